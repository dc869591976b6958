package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fullState is a supervisor whose state folder may have no room.
type fullState struct {
	t            *testing.T
	dir, address string
	disk         bool // the folder is a file system of its own; else it can only be closed to new files
	log          *lockedText
}

func (f *fullState) start() (cmd *exec.Cmd, url string) {
	cmd = exec.Command("qb", "supervisor", "-state", f.dir, "-listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_DATABASE_URL="+f.address)
	cmd.Stderr = f.log
	out, err := cmd.StdoutPipe()
	if err = errors.Join(err, cmd.Start()); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = cmd.Process.Kill() })
	said, _ := bufio.NewReader(out).ReadString('\n')
	url, ready := strings.CutPrefix(strings.TrimSpace(said), "ready ")
	if !ready {
		_ = cmd.Wait()
		f.t.Fatalf("the supervisor says %q; its log:\n%s", said, f.log)
	}
	return cmd, url
}

func (f *fullState) kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// told is where farm.json says that the farm is.
func (f *fullState) told() string {
	text, _ := os.ReadFile(filepath.Join(f.dir, "farm.json"))
	var farm struct{ URL string }
	_ = json.Unmarshal(text, &farm)
	return farm.URL
}

func (f *fullState) submit(when string) {
	f.t.Helper()
	cmd := exec.Command("qbsub", "-status", "blocked", "true")
	cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+f.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Errorf("a submission %s: %v: %s", when, err, out)
	}
}

// fill takes all bytes of the file system, then all its names.
func (f *fullState) fill() {
	if !f.disk {
		if err := os.Chmod(f.dir, 0o500); err != nil {
			f.t.Fatal(err)
		}
		return
	}
	for {
		file, err := os.CreateTemp(f.dir, "fill-")
		if err != nil {
			return
		}
		for block := make([]byte, 1<<16); len(block) > 0; {
			if _, err := file.Write(block); err != nil {
				block = block[:len(block)/2]
			}
		}
		_ = file.Close()
	}
}

func (f *fullState) empty() {
	full, err := filepath.Glob(filepath.Join(f.dir, "fill-*"))
	for _, name := range full {
		err = errors.Join(err, os.Remove(name))
	}
	if err = errors.Join(err, os.Chmod(f.dir, 0o700)); err != nil {
		f.t.Fatal(err)
	}
}

// TestFullStateFolder: a supervisor whose state folder has no room, with its logs in it, starts after a kill, leads and says where it
// is: farm.json has reserved blocks. Where those are used up too, it leads all the same, and writes the file when there is room.
func TestFullStateFolder(t *testing.T) {
	t.Parallel()
	dir := farmFolder(t)
	cluster := startCluster(t, filepath.Join(dir, "database"))
	t.Cleanup(func() { _ = cluster.Stop(t.Context()) })
	f := &fullState{t: t, dir: filepath.Join(dir, "state"), address: cluster.URL(), log: &lockedText{}}
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if syscall.Mount("qb-test", f.dir, "tmpfs", 0, "size=1m,nr_inodes=200,mode=0700") == nil {
		f.disk = true
		t.Cleanup(func() { _ = syscall.Unmount(f.dir, syscall.MNT_DETACH) })
	}
	cmd, _ := f.start()
	var url string
	if f.disk {
		f.fill()
		f.kill(cmd)
		if cmd, url = f.start(); f.told() != url {
			t.Errorf("farm.json names %q, and the supervisor is %s; its log:\n%s", f.told(), url, f.log)
		}
		f.submit("to a supervisor with a full state folder")
	}
	f.kill(cmd)
	f.fill() // what the old farm.json had, too
	if cmd, url = f.start(); f.told() == url {
		t.Error("the folder was not full")
	}
	f.empty()
	for until := time.Now().Add(time.Minute); f.told() != url; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("farm.json is not written when there is room; the log:\n%s", f.log)
		}
	}
	f.submit("when there is room")
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("the supervisor ends with %v", err)
	}
	if f.told() != "" {
		t.Error("farm.json is left")
	}
}
