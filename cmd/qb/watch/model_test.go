package watch

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"qb/api"
)

// A screen has as many lines as the window, and none is wider: what wraps would leave rows behind.
func TestScreensFit(t *testing.T) {
	for _, pages := range []string{"", "/", "K", "tab", "enter", "i", "l", "?", "tab enter"} {
		f := many(200, 100)
		for n := range f.jobs {
			f.jobs[n].Name += strings.Repeat("日本語", n%7)
		}
		f.log += strings.Repeat("wide 日本語 ", 40) + "\n"
		r := newRig(f, true)
		r.send(againMsg{})
		for _, key := range strings.Fields(pages) {
			r.press(key)
		}
		for _, width := range []int{1, 2, 3, 5, 9, 17, 30, 44, 60, 79, 80, 100, 132, 200, 250} {
			for _, height := range []int{1, 2, 3, 5, 6, 7, 10, 19, 20, 24, 50} {
				r.send(tea.WindowSizeMsg{Width: width, Height: height})
				lines := r.model.lines()
				if len(lines) != height {
					t.Fatalf("%q at %dx%d: %d lines", pages, width, height, len(lines))
				}
				for _, line := range lines {
					if lipgloss.Width(line) > width || strings.Contains(line, "\n") {
						t.Fatalf("%q at %dx%d: %d cells: %q", pages, width, height, lipgloss.Width(line), line)
					}
				}
			}
		}
	}
}

// At each width, the columns that matter are there.
func TestColumnsByWorth(t *testing.T) {
	r := newRig(many(200, 3), true)
	r.send(againMsg{})
	before := 0
	for _, width := range []int{52, 60, 80, 100, 120, 200} {
		r.send(tea.WindowSizeMsg{Width: width, Height: 24})
		columns := strings.Fields(r.shot()[2])
		for _, name := range []string{"id", "name", "running", "failed", "reason"} {
			if !slices.Contains(columns, name) {
				t.Errorf("%d cells: no column %s: %q", width, name, columns)
			}
		}
		if len(columns) < before {
			t.Errorf("%d cells: %d columns, fewer than in a narrower window", width, len(columns))
		}
		before = len(columns)
	}
	if before != 13 {
		t.Errorf("%d columns in a wide window, want 13", before)
	}
}

// Colours come only where they are wanted; the words stay.
func TestColours(t *testing.T) {
	const red = "\x1b[31m"
	f := many(9, 2)
	f.hosts[1].Remark = "no items of ada until 14:06 UTC, 5 failures"
	r := newRig(f, true)
	r.send(againMsg{})
	if text := strings.Join(r.model.lines(), "\n"); strings.Contains(text, red) {
		t.Errorf("colours where none are wanted: %q", text)
	}
	r.d.colour = true
	r.overview = newOverview(r.d)
	r.send(againMsg{})
	if text := strings.Join(r.model.lines(), "\n"); !strings.Contains(text, red+"failed") {
		t.Errorf("no colours: %q", text)
	} else if !strings.Contains(text, "\x1b[33mno items of ada") {
		t.Errorf("a host that is kept from a user is not amber: %q", text)
	}
}

func TestDrawing(t *testing.T) {
	for _, c := range []struct {
		all, kind, lang, noColour string
		want                      drawing
	}{
		{"", "", "en_GB.UTF-8", "", drawing{utf8: true, colour: true}},
		{"", "C.utf8", "C", "1", drawing{utf8: true}},
		{"C", "C.UTF-8", "C.UTF-8", "yes", drawing{}},
		{"", "", "", "", drawing{colour: true}},
	} {
		t.Setenv("LC_ALL", c.all)
		t.Setenv("LC_CTYPE", c.kind)
		t.Setenv("LANG", c.lang)
		t.Setenv("NO_COLOR", c.noColour)
		if got := newDrawing(); got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestBar(t *testing.T) {
	ascii, utf := drawing{}, drawing{utf8: true}
	for got, want := range map[string]string{
		ascii.bar(api.ItemCounts{Total: 100, Complete: 50, Running: 1, Failed: 10}, 10): "#####=x...",
		ascii.bar(api.ItemCounts{Total: 1, Running: 1}, 4):                              "====",
		ascii.bar(api.ItemCounts{}, 4):                                                  "",
		ascii.bar(api.ItemCounts{Total: 1000, Complete: 998, Running: 1, Failed: 1}, 4): "###=",
		utf.bar(api.ItemCounts{Total: 4, Complete: 1, Running: 1, Killed: 1}, 4):        "█▒×·",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Jobs that end while they are watched stay, the ones that ended before are asked for now and then, and plain lines
// show an end once.
func TestSource(t *testing.T) {
	now := noon
	f := many(3, 1) // running, blocked, failed
	s := source{farm: f, now: func() time.Time { return now }, ended: true}
	look := func() (ids []int64) {
		t.Helper()
		f.asked = nil
		l, err := s.look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range l.jobs {
			ids = append(ids, j.ID)
		}
		return ids
	}
	if ids := look(); !slices.Equal(ids, []int64{1, 2, 3}) {
		t.Errorf("%v", ids)
	}
	f.jobs[0].Status = "complete"
	if ids := look(); !slices.Equal(ids, []int64{1, 2, 3}) {
		t.Errorf("%v", ids)
	}
	if want := []string{"list-jobs pending,running,blocked,suspended", "list-jobs 1", "list-hosts"}; !slices.Equal(f.asked, want) {
		t.Errorf("asked %q", f.asked)
	}
	now = now.Add(endedWithin + time.Minute)
	if ids := look(); !slices.Equal(ids, []int64{1, 2}) {
		t.Errorf("%v; job 3 ended a day ago", ids)
	}
	s = source{farm: f, now: s.now, last: []api.Job{{ID: 1}, {ID: 2}}}
	if first, second := look(), look(); !slices.Equal(first, []int64{1, 2}) || !slices.Equal(second, []int64{2}) {
		t.Errorf("%v, then %v", first, second)
	}
}

// A watch that waits for jobs ends with them, and says which did not complete.
func TestUntilDone(t *testing.T) {
	r := newRig(many(9, 1), true)
	r.screen.Options.UntilDone = true
	r.source.ids = []int64{1, 3}
	r.send(againMsg{})
	if err := r.verdict(); r.quit || !errors.Is(err, ErrLeft) {
		t.Errorf("%v, %v", r.quit, err)
	}
	r.farm.jobs[0].Status = "complete"
	r.send(againMsg{})
	if err := r.verdict(); !r.quit || err == nil || err.Error() != "job 3 failed" {
		t.Errorf("%v, %v", r.quit, err)
	}
}

// The output of an item goes on where it broke off.
func TestLogGoesOn(t *testing.T) {
	r := newRig(many(9, 1), true)
	r.send(againMsg{})
	p := newLogPage(r.model, 1, "14")
	r.pages = append(r.pages, p)
	r.send(logArrived{page: p, data: []byte("one\ntw"), err: io.ErrUnexpectedEOF})
	r.farm.log = "one\ntwo\n"
	if shown := strings.Join(r.shot()[2:6], "|"); shown != "one|tw|-- unexpected EOF|" {
		t.Errorf("%q", shown)
	}
	r.send(logRetryMsg{p})
	if shown := strings.Join(r.shot()[2:5], "|"); shown != "one|two|" {
		t.Errorf("%q", shown)
	}
	if p.back(r); p.ctx.Err() == nil {
		t.Error("the output is still open")
	}
	r.send(logArrived{page: p, data: []byte("late")})
	if strings.Contains(p.clean.String(), "late") {
		t.Error("a closed page takes output")
	}
}

func (p *logPage) back(r *rig) { r.press("esc") }

// A long output keeps its end.
func TestLongLog(t *testing.T) {
	r := newRig(many(9, 1), true)
	r.farm.log = strings.Repeat("0123456789abcde\n", mostLog/8) + "the end\n"
	r.send(againMsg{})
	r.press("l")
	if shown := r.shot(); !slices.Contains(shown, "the end") {
		t.Errorf("%q", shown)
	}
	r.press("home")
	if shown := r.shot()[2]; shown != "-- the last 256 KiB of 512 KiB" {
		t.Errorf("%q", shown)
	}
}

// A long output without line ends, as programs write that show their progress, keeps its end, too.
func TestLongLine(t *testing.T) {
	r := newRig(many(9, 1), true)
	r.farm.log = strings.Repeat("0123456789abcde\r", mostLog/8) + "99 percent"
	r.send(againMsg{})
	p := newLogPage(r.model, 1, "14")
	r.pages = append(r.pages, p)
	r.send(logRetryMsg{p})
	if held := p.clean.Len(); held != mostLog || !slices.Contains(r.shot(), "99 percent") {
		t.Errorf("%d bytes are held: %q", held, r.shot())
	}
}

// Plain lines come when something has changed.
func TestLines(t *testing.T) {
	f := many(3, 1)
	ctx, cancel := context.WithCancel(t.Context())
	var out strings.Builder
	looks := 0
	err := Lines(ctx, &out, f, Options{Every: time.Millisecond}, func(call func() error) (bool, error) {
		if looks++; looks == 3 {
			f.jobs[0].Items.Complete++
			f.hosts[0].AvoidedBy = []api.HostAvoidance{{User: "ada", Text: "no items of ada until 14:06 UTC, 5 failures"}}
		}
		if looks == 5 {
			cancel()
			return false, context.Canceled
		}
		return false, call()
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.TrimSpace(line[len("15:04:05 "):]))
	}
	want := []string{
		"job 1 turntable_sh001 running: 13/48 done, 2+6 running, 1 failed", "job 2 crowd_sim_sh002 blocked: 0/48 done, 0+0 running",
		"host rn0001 up: 1/8 slots 1×1", "job 1 turntable_sh001 running: 14/48 done, 2+6 running, 1 failed",
		"host rn0001 up: 1/8 slots 1×1; no items of ada until 14:06 UTC, 5 failures",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
}

// closable is an output that says whether it was closed.
type closable struct {
	io.Reader
	closed bool
}

func (c *closable) Close() error { c.closed = true; return nil }

// TestBrokenOutputIsClosed: the connection of an output that broke off or ended is given back.
func TestBrokenOutputIsClosed(t *testing.T) {
	for _, why := range []error{io.ErrUnexpectedEOF, io.EOF} {
		r := newRig(many(9, 1), true)
		p := newLogPage(r.model, 1, "1")
		stream := &closable{Reader: strings.NewReader("")}
		p.stream = stream
		r.send(logArrived{page: p, err: why})
		if !stream.closed || p.stream != nil {
			t.Errorf("after %v the stream is open", why)
		}
		p.close()
	}
}
