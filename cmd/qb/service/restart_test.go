package service

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAttackSwappedProgram: a worker that is to start again neither runs nor becomes a program that somebody else may
// have put in the place of its own, and a program that is broken, hangs or talks without end leaves it as it was.
func TestAttackSwappedProgram(t *testing.T) {
	const stranger = 54321
	for what, c := range map[string]struct {
		script string
		spoil  func(program string) error
		want   string // "": it would start
		root   bool
	}{
		"good":            {script: "[ \"$*\" = 'worker -quiet --check' ]"},
		"gone":            {script: "true", spoil: os.Remove, want: "no such file"},
		"writable by all": {"touch ran", func(p string) error { return os.Chmod(p, 0o757) }, "it can be written by other users (mode 0757)", false},
		"folder for all":  {"touch ran", func(p string) error { return os.Chmod(filepath.Dir(p), 0o777) }, "can be written by other users (mode 0777)", false},
		"another's":       {"touch ran", func(p string) error { return os.Chown(p, stranger, stranger) }, "it belongs to user id 54321", true},
		"in another's":    {"touch ran", func(p string) error { return os.Chown(filepath.Dir(p), stranger, 0) }, "belongs to user id 54321", true},
		"a group's":       {"touch ran", func(p string) error { return os.Chown(p, 0, stranger) }, "", true},
		"a group may write": {"touch ran", func(p string) error {
			if err := os.Chown(p, 0, stranger); err != nil {
				return err
			}
			return os.Chmod(p, 0o775)
		}, "it can be written by other users (mode 0775)", true},
		"a folder":   {"true", func(p string) error { return replaced(p, func() error { return os.Mkdir(p, 0o755) }) }, "is no file", false},
		"garbage":    {"true", func(p string) error { return os.WriteFile(p, []byte("\x7fELF\x02garbage"), 0o755) }, "exec format error", false},
		"not for me": {"true", func(p string) error { return os.Chmod(p, 0o644) }, "permission denied", false},
		"refuses":    {"echo 'qb.conf:2: no' >&2; exit 1", nil, "qb.conf:2: no", false},
		"is silent":  {"exit 3", nil, "exit status 3", false},
		"is killed":  {"kill -9 $$", nil, "killed", false},
		"endless":    {"yes no >&2", nil, "took longer than", false},
		"hangs":      {"trap '' TERM; sleep 600 & wait", nil, "took longer than", false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if c.root && os.Geteuid() != 0 {
				t.Log("only root gives files away")
				return
			}
			dir := filepath.Join(t.TempDir(), "bin")
			program := filepath.Join(dir, "qb")
			syscall.ForkLock.RLock() // a process forked meanwhile would have the file open, and it is busy then
			err := os.Mkdir(dir, 0o755)
			if err == nil {
				err = os.WriteFile(program, []byte("#!/bin/sh\ncd "+dir+"\n"+c.script+"\n"), 0o755)
			}
			if err == nil && c.spoil != nil {
				err = c.spoil(program)
			}
			syscall.ForkLock.RUnlock()
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			got := checkProgram(t.Context(), program, []string{"qb", "worker", "-quiet"})
			if (got == nil) != (c.want == "") || got != nil && !strings.Contains(got.Error(), c.want) {
				t.Errorf("%v, want %q", got, c.want)
			}
			if took := time.Since(began); took > checkWithin+10*time.Second {
				t.Errorf("it took %s", took)
			}
			if got != nil && len(got.Error()) > maxComplaint+200 {
				t.Errorf("it complains with %d bytes", len(got.Error()))
			}
			if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil && c.want != "" {
				t.Error("the program was run")
			}
		})
	}
}

// replaced takes a file away and makes something else of its name.
func replaced(name string, with func() error) error {
	if err := os.Remove(name); err != nil {
		return err
	}
	return with()
}
