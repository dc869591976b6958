package browser_test

import (
	"fmt"
	"strings"
	"testing"
)

// pick selects rows of a list.
func (b *tab) pick(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		b.until(t, "the row "+key, fmt.Sprintf(`(() => { const box = document.querySelector('input[aria-label="Select %s"]'); if (box && !box.checked) box.click(); return box?.checked === true; })()`, key))
	}
}

// TestPageLists: of jobs and hosts that somebody changed while a dialog of a list was open both values are shown; the others are
// changed at once, these when told again.
func TestPageLists(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "2")
	var jobs []string
	for n := range 3 {
		jobs = append(jobs, f.sub("-name", fmt.Sprint("shot", n), "-priority", "100", "-status", "blocked", "-range", "1-4", "true"))
	}
	priorities := func() string {
		return f.run(append([]string{"jobs", "-no-headers", "-fields", "priority,status"}, jobs...)...)
	}
	b := openTab(t, f)
	b.logIn(t)
	b.goTo(t, "#/jobs")
	b.pick(t, jobs...)
	b.press(t, "Priority…")
	b.see(t, "Priority of 3 jobs")
	f.run("modify", "-mpriority", "70", jobs[1])
	b.answer(t, "80", "Change")
	b.see(t, "Job "+jobs[1]+" was changed meanwhile")
	b.see(t, jobs[1]+": priority was shown as 100, is now 70")
	if got := strings.Fields(priorities()); strings.Join(got, " ") != "80 blocked 70 blocked 80 blocked" {
		t.Errorf("before the answer: %v", got)
	}
	b.picture(t, "list-conflict")
	b.answer(t, "", "Change to 80")
	b.until(t, "the change", `[...document.querySelectorAll(".row-line")].filter(row => row.innerText.includes("80")).length === 3`)
	b.press(t, "Unblock…")
	b.see(t, "Unblock: 3 jobs?")
	f.run("modify", "-mpriority", "60", jobs[2])
	b.answer(t, "", "Unblock")
	b.see(t, jobs[2]+": priority was shown as 80, is now 60")
	b.answer(t, "", "Cancel")
	if got := strings.Fields(priorities()); got[5] != "blocked" || got[1] == "blocked" {
		t.Errorf("after Cancel: %v", got)
	}
	f.run("unblock", jobs[2])
	f.run(append([]string{"wait"}, jobs...)...) // what runs on would fill the slots of the submission below
	b.goTo(t, "#/hosts")
	b.pick(t, "h")
	b.press(t, "Lock…")
	f.run("lock", "h")
	b.until(t, "the lock", `document.querySelector(".row-line").innerText.includes("locked")`)
	b.answer(t, "", "Lock")
	b.see(t, "Host h was changed meanwhile")
	b.answer(t, "", "Cancel")
	b.submissions(t)
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// submissions tries one in the form, then makes it.
func (b *tab) submissions(t *testing.T) {
	t.Helper()
	b.run("unlock", "h")
	b.goTo(t, "#/submit")
	b.fill(t, "command", "sleep 30")
	b.fill(t, "range", "1-20")
	b.press(t, "What if…")
	b.see(t, "of 20 items at once")
	b.see(t, "Who gains, who loses")
	b.pictures(t, "submit-what-if", "#/submit")
	b.fill(t, "range", "1-21")
	b.until(t, "the answer to another form is gone", `!document.body.innerText.includes("Who gains, who loses")`)
	b.press(t, "What if…")
	b.see(t, "of 21 items at once")
	b.until(t, "the button", `(() => { const e = document.querySelector("main button.primary"); e?.click(); return Boolean(e); })()`)
	b.see(t, "is submitted")
}
