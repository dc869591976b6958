package worker

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/worker/core"
	"qb/worker/shim"
)

// noSpaceFor keeps a record from being written again: a folder of that name is in the way.
func noSpaceFor(t *testing.T, s shim.Spool, id api.AttemptID) {
	t.Helper()
	if err := os.Mkdir(s.Path(id)+".tmp", 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestResultTakesTheRoomSetAside: a result has room there. One of signs that take six bytes each has not, and the record
// says so.
func TestResultTakesTheRoomSetAside(t *testing.T) {
	t.Parallel()
	for sign, kept := range map[string]bool{"x": true, "<": false} {
		dir, s := t.TempDir(), shim.Spool(t.TempDir())
		result := json.RawMessage(`"` + strings.Repeat(sign, api.MaxResult-2) + `"`)
		f := api.Finished{Attempt: attempt(1, 0), Outcome: "exit", ExitCode: new(0), Result: result}
		if err := shim.MakeSpare(dir); err != nil {
			t.Fatal(err)
		}
		if err := s.PutSpare(dir, shim.Spooled{Boot: "boot", Finished: f}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Get(f.Attempt)
		if err != nil || *got.ExitCode != 0 || (string(got.Result) == string(result)) != kept || strings.Contains(got.Reason, "result") == kept {
			t.Errorf("%q: %v, %+v", sign, err, got)
		}
	}
}

func TestRecordTakesTheRoomSetAside(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), shim.Spool(t.TempDir())
	code := 3
	for n, reason := range []string{"", strings.Repeat("ü", 100_000), strings.Repeat("<\x01", 100_000)} {
		f := api.Finished{Attempt: attempt(1, n), Outcome: "exit", ExitCode: &code, Reason: reason, Wall: 1.5}
		if err := shim.MakeSpare(dir); err != nil {
			t.Fatal(err)
		}
		noSpaceFor(t, s, f.Attempt)
		if err := s.Put(shim.Spooled{Boot: "boot", Finished: f}); err == nil {
			t.Fatal("the record could be written; the test tests nothing")
		}
		if err := s.PutSpare(dir, shim.Spooled{Boot: "boot", Finished: f}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Get(f.Attempt)
		if err != nil || *got.ExitCode != code || got.Wall != 1.5 || !strings.HasPrefix(reason, strings.TrimSuffix(got.Reason, " …")) || len(got.Reason) > 2*shim.SpareReason {
			t.Errorf("%v, %+v", err, got)
		}
		if err := s.PutSpare(dir, shim.Spooled{Boot: "boot", Finished: f}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a room serves twice: %v", err)
		}
	}
	if records, torn, err := s.Load("boot"); err != nil || len(records) != 3 || len(torn) > 0 {
		t.Errorf("%d records, torn %v, %v", len(records), torn, err)
	}
}

// smallDisk mounts one of 1 MB, where it may.
func smallDisk(t *testing.T, dir string) bool {
	t.Helper()
	if unix.Mount("qb-test", dir, "tmpfs", 0, "size=1m,mode=755") != nil {
		return false
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return true
}

// fillDisk takes the last byte of a small disk, never of the machine's own.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	var disk unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &disk); err != nil || disk.Blocks*uint64(disk.Bsize) > 64<<20 {
		t.Fatalf("%s lies on no small disk (%v)", path, err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for size := 64 << 10; size > 0; {
		if _, err = file.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
}

// TestFullDiskTellsTheEndsOfTheOld: with no byte left the ends of what runs are reported, kept over a restart of
// the agent until they are acknowledged, and nothing new is taken; with space again all goes on. Where no disk
// can be mounted, the records alone find no space.
func TestFullDiskTellsTheEndsOfTheOld(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	finish := filepath.Join(t.TempDir(), "finish")
	f.shellJob(1, "echo up; while [ ! -e "+finish+" ]; do sleep 0.02; done; exit 5")
	f.with(func() { f.keep = true })
	config := testConfig(t, f)
	disk := filepath.Dir(config.State)
	small := smallDisk(t, disk)
	config.DiskFloor = 16 << 10
	agent := startAgent(t, config)
	ids := []api.AttemptID{attempt(1, 0), attempt(1, 1), attempt(1, 2)}
	for n, id := range ids[:2] {
		f.want(core.Key{Job: 1, Instance: n}, id)
		f.awaitOutput(id, "up")
	}
	records := shim.Spool(filepath.Join(config.State, "spool"))
	if small {
		fillDisk(t, filepath.Join(disk, "fill"))
	} else {
		noSpaceFor(t, records, ids[0])
		noSpaceFor(t, records, ids[1])
	}
	if err := os.WriteFile(finish, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids[:2] {
		if end := f.awaitEnd(id); end.Outcome != "exit" || *end.ExitCode != 5 {
			t.Errorf("end = %+v", end)
		}
	}
	if small {
		f.await("it takes nothing new", func() bool { return strings.Contains(f.last.Refusing, "worker_disk_floor") })
	}
	kill9(t, agent)
	former := f.heard().Incarnation
	runAgent(t, config)
	f.await("both ends are told by the next agent", func() bool {
		return f.last.Incarnation != former && len(f.last.Finished) == 2 && *f.last.Finished[0].ExitCode == 5 && *f.last.Finished[1].ExitCode == 5
	})
	os.Remove(filepath.Join(disk, "fill"))
	f.with(func() { f.keep = false; clear(f.wanted) })
	f.await("the records are let go", func() bool {
		left, _ := filepath.Glob(filepath.Join(string(records), "*-1"))
		return len(left) == 0
	})
	f.want(core.Key{Job: 1, Instance: 5}, ids[2])
	if end := f.awaitEnd(ids[2]); end.Outcome != "exit" || *end.ExitCode != 5 {
		t.Errorf("with space again: %+v", end)
	}
}

// TestLossOnAFullDiskOutlivesTheAgent: a shim is killed, and its agent before anybody took its word, with no space for
// a record. The next agent tells the loss, and does not start the attempt again, though it is ordered to run it; if the
// space set aside is gone too, it does so when there is some.
func TestLossOnAFullDiskOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	for name, room := range map[string]bool{"space set aside": true, "no space at all": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newScriptedFarm(t)
			ran := filepath.Join(t.TempDir(), "ran")
			f.shellJob(1, "echo ran >> "+ran+"; echo up; sleep 600")
			f.with(func() { f.keep = true })
			config := testConfig(t, f)
			agent := startAgent(t, config)
			id := attempt(1, 0)
			f.want(core.Key{Job: 1, Instance: 0}, id)
			f.awaitOutput(id, "up")
			dir, records := filepath.Join(config.State, "i", "1.0"), shim.Spool(filepath.Join(config.State, "spool"))
			now, err := readNow(dir)
			if err != nil {
				t.Fatal(err)
			}
			noSpaceFor(t, records, id)
			if !room {
				if err := os.Remove(filepath.Join(dir, shim.SpareName)); err != nil {
					t.Fatal(err)
				}
			}
			unix.Kill(now.Shim.PID, unix.SIGKILL)
			if room {
				f.awaitEnd(id)
			} else {
				f.awaitState(core.Key{Job: 1, Instance: 0}, core.StateUnknown)
			}
			kill9(t, agent)
			former := f.heard().Incarnation
			runAgent(t, config)
			f.await("the next agent speaks", func() bool { return f.last.Incarnation != former })
			if !room {
				f.awaitState(core.Key{Job: 1, Instance: 0}, core.StateUnknown)
				if err := os.Remove(records.Path(id) + ".tmp"); err != nil {
					t.Fatal(err)
				}
			}
			f.await("the loss is told by the next agent", func() bool {
				return f.last.Incarnation != former && len(f.last.Finished) == 1 && f.last.Finished[0].Outcome == "lost"
			})
			if lines, err := os.ReadFile(ran); err != nil || string(lines) != "ran\n" {
				t.Errorf("it ran %q, %v", lines, err)
			}
		})
	}
}

// TestRecordThatWaitsForRoomHoldsNoMemory: an item has ended, and its shim can write that nowhere. What the item had is
// free, and so its instance is ordered to hold nothing: else it would be taken off what others use, and promised twice.
func TestRecordThatWaitsForRoomHoldsNoMemory(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	finish := filepath.Join(t.TempDir(), "finish")
	f.shellJob(1, "while [ ! -e "+finish+" ]; do sleep 0.02; done; exit 5")
	config := testConfig(t, f)
	runAgent(t, config)
	id, key := attempt(1, 0), core.Key{Job: 1, Instance: 0}
	f.want(key, id)
	holds := func(is func(bytes int64) bool) func() bool {
		return func() bool {
			f.version++ // an answer at once, and so another report
			f.stir()
			n := slices.IndexFunc(f.last.Instances, func(i api.SyncInstance) bool { return i.Attempt == id && i.State == "running" })
			return n >= 0 && is(f.last.Instances[n].Memory)
		}
	}
	f.await("its memory is told", holds(func(bytes int64) bool { return bytes > 0 }))
	records := shim.Spool(filepath.Join(config.State, "spool"))
	noSpaceFor(t, records, id)
	if err := os.Remove(filepath.Join(config.State, "i", "1.0", shim.SpareName)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(finish, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.await("it holds nothing, and has not ended", holds(func(bytes int64) bool { return bytes == 0 }))
	if err := os.Remove(records.Path(id) + ".tmp"); err != nil {
		t.Fatal(err)
	}
	if end := f.awaitEnd(id); end.Outcome != "exit" || *end.ExitCode != 5 {
		t.Errorf("end = %+v", end)
	}
}
