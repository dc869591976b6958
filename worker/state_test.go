package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qb/api"
	"qb/worker/core"
	"qb/worker/settings"
	"qb/worker/shim"
)

func TestTornRecordsAreIgnoredAndNamed(t *testing.T) {
	t.Parallel()
	code := 3
	whole := api.Finished{Attempt: attempt(1, 2), Outcome: "exit", ExitCode: &code, Reason: "a \n reason", Wall: 1.5}
	dir := t.TempDir()
	s := shim.Spool(dir)
	if err := s.Put(shim.Spooled{Boot: "boot", Finished: whole}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(s.Path(whole.Attempt))
	if err != nil {
		t.Fatal(err)
	}
	for cut := range data {
		for name, torn := range map[string][]byte{
			"cut":     data[:cut],
			"zeroed":  append(append([]byte{}, data[:cut]...), make([]byte, len(data)-cut)...),
			"flipped": append(append(append([]byte{}, data[:cut]...), data[cut]^1), data[cut+1:]...),
		} {
			if err := os.WriteFile(s.Path(whole.Attempt), torn, 0o600); err != nil {
				t.Fatal(err)
			}
			records, named, err := s.Load("boot")
			if err != nil || len(records) > 0 || len(named) != 1 {
				t.Fatalf("%s at byte %d of %d: %+v, %v, %v", name, cut, len(data), records, named, err)
			}
		}
	}
	if err := os.WriteFile(s.Path(whole.Attempt), data, 0o600); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(dir, "9-9-9.tmp"), data, 0o600)
	os.WriteFile(filepath.Join(dir, "9-9-9"), data, 0o600) // another attempt's content
	records, named, err := s.Load("boot")
	if err != nil || len(records) != 1 || *records[0].ExitCode != 3 || len(named) != 1 || named[0] != "9-9-9" {
		t.Errorf("%+v, %v, %v", records, named, err)
	}
	if records, _, _ := s.Load("another boot"); len(records) > 0 {
		t.Errorf("a record of another boot: %+v", records)
	}
}

func TestTornRecordOfAVanishedShimIsALoss(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.job(1, "true")
	f.with(func() { f.keep = true })
	config := testConfig(t, f)
	agent := startAgent(t, config)
	id := attempt(1, 0)
	f.want(core.Key{Job: 1, Instance: 0}, id)
	f.awaitEnd(id)
	kill9(t, agent)
	now, err := readNow(filepath.Join(config.State, "i", "1.0"))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := os.FindProcess(now.Shim.PID); err == nil {
		p.Kill()
	}
	f.await("the shim's end", func() bool { return !now.Shim.Alive() })
	os.WriteFile(filepath.Join(config.State, "spool", shim.AttemptName(id)), nil, 0o600)
	// The shim noted that it had written the record, and now it is unknown what it said.
	former := f.heard().Incarnation
	runAgent(t, config)
	f.await("a loss", func() bool {
		return f.last.Incarnation != former && len(f.last.Finished) == 1 && f.last.Finished[0].Outcome == "lost"
	})
	f.with(func() { f.keep = false; clear(f.wanted) })
}

func TestStateIDBelongsToTheFolder(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "state")
	ids := map[string]bool{}
	for range 2 {
		s, err := openState(root)
		if err != nil {
			t.Fatal(err)
		}
		ids[s.id] = true
		if err := s.saveTerm(core.TermRecord{Term: api.Term{Epoch: 41}, Superseded: []string{"a"}}); err != nil || s.term().Term.Epoch != 41 || len(s.term().Superseded) != 1 {
			t.Errorf("term: %v, %+v", err, s.term())
		}
		s.close()
	}
	if len(ids) != 1 {
		t.Errorf("ids %v", ids)
	}
	s, _ := openState(root)
	os.RemoveAll(root)
	if s.intact() {
		t.Error("a removed folder counts as intact")
	}
	s.close()
	s, err := openState(root)
	if err != nil || ids[s.id] {
		t.Errorf("a new folder has the old id: %v", err)
	}
	s.close()
}

func TestInstancesOfAnotherBootAreDropped(t *testing.T) {
	t.Parallel()
	s, err := openState(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for n, boot := range []string{"old", "new"} {
		lock, err := s.declare(shim.Intent{Key: core.Key{Job: 1, Instance: n}, Boot: boot, Mark: "m"})
		if err != nil {
			t.Fatal(err)
		}
		lock.Close()
	}
	torn := s.instanceDir(core.Key{Job: 1, Instance: 2})
	os.Mkdir(torn, 0o700)
	os.WriteFile(filepath.Join(torn, "intent"), []byte("half"), 0o600)
	list, err := s.intents("new")
	if err != nil || len(list) != 1 || list[0].Key != (core.Key{Job: 1, Instance: 1}) {
		t.Errorf("%+v, %v", list, err)
	}
	for _, n := range []int{0, 2} {
		if _, err := os.Stat(s.instanceDir(core.Key{Job: 1, Instance: n})); !os.IsNotExist(err) {
			t.Errorf("instance 1.%d is still there", n)
		}
	}
}

func TestLongStateFolderStillHasASocket(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.job(1, "true")
	config := testConfig(t, f)
	config.State = filepath.Join(config.State, strings.Repeat("long/", 40))
	runAgent(t, config)
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	if end := f.awaitEnd(attempt(1, 0)); end.Outcome != "exit" {
		t.Errorf("end = %+v", end)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	good := settings.DefaultConfig()
	good.State, good.Supervisor = "/tmp/x", []string{"http://127.0.0.1:1"}
	if err := good.Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for key, spoil := range map[string]func(*settings.Config){
		"worker_cpus":       func(c *settings.Config) { c.CPUs = -1 },
		"worker_name":       func(c *settings.Config) { c.Name = "a/b" },
		"worker_cluster":    func(c *settings.Config) { c.Cluster = "vfx" },
		"worker_run_as":     func(c *settings.Config) { c.RunAs = "anybody" },
		"worker_log_limit":  func(c *settings.Config) { c.LogLimit = 10 },
		"worker_disk_floor": func(c *settings.Config) { c.DiskFloor = -1 },
		"worker_state":      func(c *settings.Config) { c.State = "here" },
		"worker_supervisor": func(c *settings.Config) { c.Supervisor = nil },
		"worker_resources":  func(c *settings.Config) { c.Resources = map[string]int{"gpu": -1} },
	} {
		c := good
		spoil(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestRefusingWhenTheDiskIsNearlyFull(t *testing.T) {
	t.Parallel()
	if why := refusing(t.TempDir(), 1<<60); !strings.Contains(why, "worker_disk_floor") {
		t.Errorf("refusing = %q", why)
	}
	if why := refusing(t.TempDir(), 0); why != "" {
		t.Errorf("refusing = %q", why)
	}
}

// TestCopiedFolderIsNew: a copy knows nothing of what the folder that it was copied from knows, and the original
// stays what it is.
func TestCopiedFolderIsNew(t *testing.T) {
	root := t.TempDir()
	original, copied := filepath.Join(root, "original"), filepath.Join(root, "copied")
	first, err := openState(original)
	if err != nil {
		t.Fatal(err)
	}
	id := first.id
	lock, err := first.declare(shim.Intent{Key: core.Key{Job: 1, Instance: 0}, Boot: "boot"})
	if err != nil {
		t.Fatal(err)
	}
	lock.Close()
	first.close()
	if err := os.CopyFS(copied, os.DirFS(original)); err != nil {
		t.Fatal(err)
	}
	second, err := openState(copied)
	if err != nil {
		t.Fatal(err)
	}
	defer second.close()
	if list, err := second.intents("boot"); second.id == id || len(list) != 0 || err != nil || !second.copied {
		t.Errorf("the copy is %s, of %s, with the instances %v (%v)", second.id, id, list, err)
	}
	again, err := openState(original)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	if list, err := again.intents("boot"); again.id != id || len(list) != 1 || err != nil || again.copied {
		t.Errorf("the original is %s, and was %s, with the instances %v (%v)", again.id, id, list, err)
	}
}
