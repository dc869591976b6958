package browser_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// clockChanges are days around which the clocks of a zone are changed: by half an hour, by two, at midnight, by a day,
// back for Ramadan, and where summer is the standard time. What is past is the same in all databases of zones.
var clockChanges = map[string][]string{
	"Europe/Berlin": {"2025-03-30", "2024-10-27"}, "America/Los_Angeles": {"2025-03-09"}, "America/New_York": {"2024-11-03"},
	"America/Sao_Paulo": {"2018-11-04", "2018-02-17"}, "America/Havana": {"2024-11-03"}, "Australia/Lord_Howe": {"2025-04-06", "2024-10-06"},
	"Europe/Dublin": {"2025-03-30", "2024-10-27"}, "Africa/Casablanca": {"2024-03-10", "2024-04-14"}, "Antarctica/Troll": {"2025-03-30"},
	"Pacific/Chatham": {"2025-04-06"}, "Pacific/Apia": {"2011-12-30"}, "Asia/Pyongyang": {"2018-05-04"}, "Asia/Kathmandu": {"2024-11-28"}, "UTC": {"2024-11-28"},
}

// momentTry is a text that somebody types at a time, with the moments at which clocks there show it.
type momentTry struct {
	Text string `json:"text"`
	Now  int64  `json:"now"` // in milliseconds
	want []time.Time
}

// momentTries are each quarter of an hour of the day, and of a time of day alone the next, at any time around it. What
// clocks show is found by looking at each minute.
func momentTries(t *testing.T, zone *time.Location, name string) (tries []momentTry) {
	t.Helper()
	day, err := time.Parse(time.DateOnly, name)
	if err != nil {
		t.Fatal(err)
	}
	const whole, clock = "2006-01-02 15:04", "15:04"
	shown := map[string][]time.Time{}
	for at := day.Add(-48 * time.Hour); at.Before(day.Add(120 * time.Hour)); at = at.Add(time.Minute) {
		for _, form := range []string{whole, clock} {
			text := at.In(zone).Format(form)
			shown[text] = append(shown[text], at)
		}
	}
	for minutes := 0; minutes < 24*60; minutes += 15 {
		text := day.Add(time.Duration(minutes) * time.Minute).Format(whole)
		tries = append(tries, momentTry{text, day.UnixMilli(), shown[text]})
		for now := day.Add(-24*time.Hour - time.Duration(minutes)*time.Second); now.Before(day.Add(48 * time.Hour)); now = now.Add(430 * time.Minute) {
			text := text[len(text)-len(clock):]
			for n, at := range shown[text] {
				if at.After(now) {
					tries = append(tries, momentTry{text, now.UnixMilli(), shown[text][n : n+1]})
					break
				}
			}
		}
	}
	return tries
}

// TestPageMoments: times are read in the zone of the browser as clocks there show them; one that they skip or show
// twice is refused with what to write. A field of a number that is left empty, or has none, changes nothing.
func TestPageMoments(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "1")
	job := f.sub("-name", "shot", "-status", "blocked", "-max_cpus", "3", "-priority", "70", "true")
	b := openTab(t, f)
	b.logIn(t)
	js[any](t, b, `globalThis.local = null, import(Object.keys(JSON.parse(document.querySelector("script[type=importmap]").textContent).integrity).find(file => file.includes("moment"))).then(m => { local = m.local; }), true`)
	b.until(t, "the module", `local !== null`)
	for name, days := range clockChanges {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := chromedp.Call(b.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name}); err != nil {
			t.Fatal(err)
		}
		for _, day := range days {
			tries := momentTries(t, zone, day)
			text, err := json.Marshal(tries)
			if err != nil {
				t.Fatal(err)
			}
			answers := js[[]string](t, b, string(text)+`.map(({text, now}) => { try { return local(text, now); } catch (e) { return "refused: " + e.message; } })`)
			refused := 0
			for n, try := range tries {
				if wrong := try.wrong(zone, answers[n]); wrong != "" {
					t.Fatalf("%s in %s at %s: %s", try.Text, name, time.UnixMilli(try.Now).In(zone), wrong)
				}
				if strings.HasPrefix(answers[n], "refused") {
					refused++
				}
			}
			if still := name == "UTC" || name == "Asia/Kathmandu"; still != (refused == 0) {
				t.Errorf("%s %s: %d of %d are refused", name, day, refused, len(tries))
			}
		}
	}
	b.goTo(t, "#/jobs/"+job)
	for _, button := range []string{"Priority…", "max_cpus…"} {
		for _, typed := range []string{" ", "0x10", "1e3", "2.5", "two", "1 2"} {
			b.press(t, button)
			b.answer(t, typed, "Change")
			b.until(t, "the refusal of "+typed, fmt.Sprintf(`[...document.querySelectorAll(".notice")].some(e => e.innerText.includes(%q) && e.innerText.includes("no whole number"))`, typed))
		}
	}
	if made := b.made(t); len(made) != 0 {
		t.Errorf("%q was sent", made)
	}
	if got := strings.Fields(f.run("jobs", "-no-headers", "-fields", "priority,max_cpus", job)); strings.Join(got, " ") != "70 3" {
		t.Errorf("the job has %q", got)
	}
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// wrong says what is wrong with an answer of the page.
func (m momentTry) wrong(zone *time.Location, answer string) string {
	if len(m.want) == 1 {
		if want := m.want[0].In(zone).Format(time.RFC3339); answer != want {
			return fmt.Sprintf("%q, want %q", answer, want)
		}
		return ""
	}
	if !strings.HasPrefix(answer, "refused") {
		return fmt.Sprintf("%q is shown at %v", answer, m.want)
	}
	for _, at := range m.want {
		if !strings.Contains(answer, at.In(zone).Format(time.RFC3339)) {
			return fmt.Sprintf("%q does not name %v", answer, at.In(zone))
		}
	}
	return ""
}
