package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"qb/api"
)

func TestCheckAttempts(t *testing.T) {
	begin := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	end := begin.Add(3 * time.Second)
	try := func(item, number int, state string) api.Attempt {
		return api.Attempt{Job: 1, Item: "x", Number: item, Attempt: number, State: state, StartedAt: begin, FinishedAt: &end}
	}
	live := try(1, 2, "running")
	live.FinishedAt = nil
	cases := []struct {
		name     string
		attempts []api.Attempt
		complain string
	}{
		{"each once", []api.Attempt{try(0, 1, "done"), try(1, 1, "failed"), try(1, 2, "done")}, ""},
		{"one missing", []api.Attempt{try(0, 1, "done"), try(1, 1, "preempted")}, "number 1 has 0 done"},
		{"one twice", []api.Attempt{try(0, 1, "done"), try(0, 2, "done"), try(1, 1, "done")}, "number 0 has 2 done"},
		{"one too many", []api.Attempt{try(0, 1, "done"), try(1, 1, "done"), try(2, 1, "done")}, "of 3 items"},
		{"one alive", []api.Attempt{try(0, 1, "done"), try(1, 1, "done"), live}, "no end"},
	}
	for _, c := range cases {
		spent := map[string]count{}
		err := checkAttempts(1, c.attempts, 2, spent)
		if c.complain == "" && err != nil || c.complain != "" && (err == nil || !strings.Contains(err.Error(), c.complain)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.complain)
		}
		if c.complain == "" && (spent["failed"] != count{1, 3} || spent["done"] != count{2, 6}) {
			t.Errorf("%s: spent %v", c.name, spent)
		}
	}
}

func TestCheckPicture(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, w, h, cut int) string {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, b.Bytes()[:b.Len()-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if err := checkPicture(write("whole.png", frameWidth, frameHeight, 0)); err != nil {
		t.Error(err)
	}
	if checkPicture(write("small.png", frameWidth-1, frameHeight, 0)) == nil {
		t.Error("a picture of the wrong size passed")
	}
	if checkPicture(write("half.png", frameWidth, frameHeight, 30)) == nil {
		t.Error("half a picture passed")
	}
	if checkPicture(filepath.Join(folder, "none.png")) == nil {
		t.Error("no picture passed")
	}
}

func TestCheckMovie(t *testing.T) {
	name := filepath.Join(t.TempDir(), "m.gif")
	for _, frames := range []int{beautyFrames, beautyFrames - 1} {
		movie := gif.GIF{}
		for range frames {
			movie.Image = append(movie.Image, image.NewPaletted(image.Rect(0, 0, 2, 2), color.Palette{color.Black, color.White}))
			movie.Delay = append(movie.Delay, 8)
		}
		var b bytes.Buffer
		if err := gif.EncodeAll(&b, &movie); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkMovie(name); (err == nil) != (frames == beautyFrames) {
			t.Errorf("%d frames: %v", frames, err)
		}
	}
}

func TestTable(t *testing.T) {
	now := state{
		jobs: []api.Job{{
			ID: 1, Name: "beauty", Status: "running", Instances: api.InstanceCounts{Primary: 2, Secondary: 1},
			Items: api.ItemCounts{Total: 48, Complete: 24, Running: 3, Failed: 1, Pending: 20},
		}},
		hosts: []api.Host{{
			Name: "h1", Slots: api.SlotCounts{Total: 4, Used: 3},
			Instances: []api.HostInstance{{Job: 1, Kind: "primary", Item: "25"}, {Job: 1, Kind: "secondary", Item: "26"}},
		}},
	}
	table := (&screen{begin: time.Now()}).table(now)
	for _, want := range []string{"████████████▒▒×·········", "24/48", "3/4", " beauty 25", "+beauty 26"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if got, want := plainLine(now), "beauty 2+1 24/48 | slots h1 3/4"; got != want {
		t.Errorf("plain line %q, want %q", got, want)
	}
}

// The bar is as wide as it is for every possible count.
func TestBarWidth(t *testing.T) {
	for total := range 9 {
		for done := range total + 1 {
			for running := range total - done + 1 {
				items := api.ItemCounts{Total: total, Complete: done, Running: running, Failed: total - done - running}
				if n := len([]rune(bar(items))); n != barWidth {
					t.Fatalf("%+v: %d wide", items, n)
				}
			}
		}
	}
}

func TestTail(t *testing.T) {
	got := tail("one\n10%\r20%\rdone 30%\n\nthree   \nfour", 3)
	if want := []string{"done 30%", "three", "four"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestShown(t *testing.T) {
	if got, want := shown([]string{"-max_cpus", "*", "-name", "a b", ""}), `-max_cpus "*" -name "a b" ""`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Only pictures are ever removed.
func TestEmptyFolder(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a.png", "b.gif", ".c.png.attempt1.77"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := emptyFolder(folder); err != nil {
		t.Fatal(err)
	}
	precious := filepath.Join(folder, "thesis.tex")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := emptyFolder(folder); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

// A process whose output goes below one of the folders is found, a process that only names the pictures is not.
func TestFindStrays(t *testing.T) {
	state, out := t.TempDir(), t.TempDir()
	file, err := os.Create(filepath.Join(out, "a.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	writer, viewer, server := exec.Command("sleep", "60"), exec.Command("sh", "-c", "sleep 60; :", out), exec.Command("sh", "-c", "sleep 60; :", state)
	writer.Stdout = file
	for _, cmd := range []*exec.Cmd{writer, viewer, server} {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
		}()
	}
	for _, cmd := range []*exec.Cmd{writer, viewer, server} { // the kernel shows no command line for a moment after exec
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid)); len(line) > 0 {
				break
			}
		}
	}
	strays := findStrays(state, out)
	for _, c := range []struct {
		cmd  *exec.Cmd
		want bool
	}{{writer, true}, {viewer, false}, {server, true}} {
		if _, got := strays[c.cmd.Process.Pid]; got != c.want {
			t.Errorf("%v: stray %v, want %v", c.cmd.Args, got, c.want)
		}
	}
}

func TestOwnFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "out")
	unlock, err := ownFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ownFolder(folder); err == nil {
		t.Error("two demos may use one folder")
	}
	unlock()
	if unlock, err = ownFolder(folder); err != nil {
		t.Fatal(err)
	}
	unlock()
}
