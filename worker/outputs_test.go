package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"qb/agenda"
	"qb/api"
	"qb/worker/core"
)

// writeOutput makes a file of some kind and says whether it counts as an output of at least so many bytes.
func writeOutput(t *testing.T, path, kind string, least int) bool {
	t.Helper()
	var err error
	switch kind {
	case "file":
		err = os.WriteFile(path, make([]byte, least), 0o600)
	case "old":
		past := time.Now().Add(-time.Minute)
		err = errors.Join(os.WriteFile(path, make([]byte, least), 0o600), os.Chtimes(path, time.Now(), past))
	case "link":
		err = errors.Join(os.WriteFile(path+".to", make([]byte, least), 0o600), os.Symlink(filepath.Base(path)+".to", path))
	case "small":
		err = os.WriteFile(path, make([]byte, least-1), 0o600)
	case "pipe":
		err = syscall.Mkfifo(path, 0o600)
	case "link to a pipe":
		err = errors.Join(syscall.Mkfifo(path+".pipe", 0o600), os.Symlink(path+".pipe", path))
	case "device":
		err = os.Symlink("/dev/zero", path)
	case "terminal":
		err = os.Symlink("/dev/tty", path)
	case "folder":
		err = os.Mkdir(path, 0o700)
	case "socket":
		err = syscall.Mknod(path, syscall.S_IFSOCK|0o600, 0)
	case "dangling":
		err = os.Symlink("nowhere", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return kind == "file" || kind == "link" || kind == "old"
}

// TestOutputsAgainstFiles: whatever the numbers of an item, the name of its files and what lies there, the item is
// complete exactly if each of its numbers has a regular file that is large enough; the one at fault is known, and
// nothing that is looked at is waited for.
func TestOutputsAgainstFiles(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 9))
	bad := []string{"old", "small", "pipe", "link to a pipe", "device", "terminal", "folder", "socket", "dangling", "none"}
	names := []string{"out.QB_PADDED_FRAME_NUMBER.exr", "-r QB_FRAME_NUMBER.png", "a,b 'QB_FRAME_NUMBER\" $x*.exr", "x.QB_FRAME_NUMBER.QB_FRAME_START.QB_FRAME_NUMBER", "end.QB_FRAME_END", "-", "one file"}
	for n := range 120 {
		spec := agenda.Spec{Range: []string{"1-7", "9-1x2", "1-3,7,20", "5", "a,b,-3--5", "100-300x2"}[r.IntN(6)], Chunk: 1 + r.IntN(200), Padding: r.IntN(5), Named: r.IntN(2) == 0}
		a, err := agenda.Parse(spec, 0)
		if err != nil {
			t.Fatal(err)
		}
		of := a.Item(r.IntN(a.Len()))
		item := core.Item{Desired: api.Desired{Name: of.Name, Start: of.Start, End: of.End, Step: of.Step}, Spec: api.JobSpec{Agenda: true, Padding: spec.Padding}}
		name, least := names[n%len(names)], 1
		text := name
		if r.IntN(2) == 0 {
			least = 1024
			text += ":1K"
		}
		fresh := r.IntN(2) == 0
		if fresh {
			text += ":new"
		}
		dir, fault := t.TempDir(), ""
		for _, file := range expectedFiles(t, name, of, spec.Padding) {
			kind := "file"
			if r.IntN(4) == 0 {
				kind = "link"
			}
			if n%3 > 0 && fault == "" && r.IntN(3) == 0 {
				kind = bad[r.IntN(len(bad))]
			}
			if !writeOutput(t, filepath.Join(dir, file), kind, least) || kind == "old" && fresh {
				fault = file
			}
		}
		stages, err := outputChecks(item, text, time.Now(), newExpansion())
		if err != nil {
			t.Fatal(err)
		}
		found := ""
		for _, stage := range stages {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			cmd := exec.CommandContext(ctx, stage.Argv[0], stage.Argv[1:]...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "QB_FRAME_STATUS=complete")
			said, err := cmd.CombinedOutput()
			cancel()
			var failed *exec.ExitError
			switch {
			case errors.As(err, &failed) && failed.ExitCode() > 0:
				found = stage.Argv[stage.Files+failed.ExitCode()-1]
			case err != nil:
				t.Fatalf("%s: %v, %s", text, err, said)
			}
			if found != "" {
				break
			}
		}
		if found != fault {
			t.Errorf("%s of item %+v: at fault is %q, want %q", text, of, found, fault)
		}
	}
}

// expectedFiles is a file for each number of an item, if its name has one.
func expectedFiles(t *testing.T, name string, of agenda.Item, padding int) (files []string) {
	single, err := agenda.Parse(agenda.Spec{Range: of.Name, Padding: padding}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for n := range single.Len() {
		number := single.Item(n).Start
		file := strings.NewReplacer("QB_PADDED_FRAME_NUMBER", number, "QB_FRAME_NUMBER", number, "QB_FRAME_START", of.Start, "QB_FRAME_END", of.End).Replace(name)
		if n == 0 || strings.Contains(name, "NUMBER") {
			files = append(files, file)
		}
	}
	return files
}

// TestTooManyOutputs ends an item with a reason, and takes no memory.
func TestTooManyOutputs(t *testing.T) {
	t.Parallel()
	item := core.Item{Desired: api.Desired{Name: "1-90000000", Start: "1", End: "90000000"}, Spec: api.JobSpec{Agenda: true}}
	if _, err := outputChecks(item, "f.QB_FRAME_NUMBER", time.Now(), newExpansion()); err == nil || !strings.Contains(err.Error(), "90,000,000") {
		t.Errorf("90 million files: %v", err)
	}
	item.Desired.Name, item.Desired.End = "1-10000", "10000"
	stages, err := outputChecks(item, fmt.Sprintf("%0200d.QB_FRAME_NUMBER", 0), time.Now(), newExpansion())
	if err != nil || len(stages) != 100 {
		t.Errorf("10,000 files: %d checks, %v", len(stages), err)
	}
	if _, err := outputChecks(item, fmt.Sprintf("%02000d.QB_FRAME_NUMBER", 0), time.Now(), newExpansion()); err == nil {
		t.Error("20 MB of files are taken")
	}
}
