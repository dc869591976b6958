package worker

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qb/api"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		"# name total used\n\na.b 3 1": "a.b 3 1",
		"a.b 3":                        "no line",
		"a.b 3 -1":                     "numbers",
		"a.b 3 1\na.b 3 1":             "an earlier line",
		"a.b x 1":                      "numbers",
	} {
		list, err := parseUsage([]byte(text))
		switch {
		case err != nil:
			if !strings.Contains(err.Error(), want) || want == "" {
				t.Errorf("%q: %v", text, err)
			}
		case want == "" && len(list) == 0:
		case len(list) != 1 || list[0] != (api.ResourceUse{Name: "a.b", Total: 3, Outside: 1}) || want != "a.b 3 1":
			t.Errorf("%q: %+v", text, list)
		}
	}
}

// The command is asked again and again; a command that fails leaves what was said last.
func TestPoll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "use")
	write := func(text string) {
		if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil { // whole: an empty file is an answer too
			t.Fatal(err)
		}
	}
	write("license.nuke 60 12")
	p := &usagePoller{Command: []string{"/bin/cat", file}, Interval: 10 * time.Millisecond, Log: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.Run(ctx); close(done) }()
	until := func(good func(*api.Usage) bool) {
		t.Helper()
		for began := time.Now(); !good(p.Latest()); time.Sleep(time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("%+v", p.Latest())
			}
		}
	}
	until(func(u *api.Usage) bool { return u != nil && len(u.Resources) == 1 && u.Resources[0].Outside == 12 })
	write("nonsense")
	write("license.nuke 60 30")
	until(func(u *api.Usage) bool { return len(u.Resources) == 1 && u.Resources[0].Outside == 30 })
	cancel()
	<-done
}

// What it leaves behind ends with it, and it may not write without end.
func TestBounds(t *testing.T) {
	p := &usagePoller{Command: []string{"/bin/sh", "-c", "head -c 100000 /dev/zero"}, Interval: time.Second}
	if _, err := p.ask(t.Context()); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("%v", err)
	}
}
