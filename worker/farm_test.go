package worker

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"qb/api"
	"qb/internal/statedir"
	"qb/worker/core"
	"qb/worker/proc"
	"qb/worker/settings"
	"qb/worker/shim"
)

// scriptedFarm is a supervisor of which the test is the scheduler: what it wants is what is in
// wanted, an end takes the attempt off it, and then refill may put something else there.
type scriptedFarm struct {
	t      testing.TB
	server *httptest.Server

	mu       sync.Mutex
	wake     chan struct{} // closed and replaced at each change
	wanted   map[core.Key]api.Desired
	specs    map[int64]api.JobSpec
	epoch    int64
	lease    float64
	grace    float64
	mute     bool    // answers nothing
	keep     bool    // acknowledges nothing
	parting  float64 // lease in the answer to the next sync that comes in; after it the farm is mute
	version  int
	answered int
	greeted  string
	refill   func(f *scriptedFarm, end api.Finished) // called with mu held
	last     api.Sync
	syncs    int
	ends     map[api.AttemptID]api.Finished
	told     map[api.AttemptID]int
	logs     map[logID][]byte
	final    map[logID]bool
	askEnds  string // an audit in each answer
	pages    []api.EndsPage
	pictures map[api.AttemptID]api.Picture
}

func newScriptedFarm(t testing.TB) *scriptedFarm {
	f := &scriptedFarm{
		t: t, wake: make(chan struct{}), wanted: map[core.Key]api.Desired{}, specs: map[int64]api.JobSpec{},
		epoch: 1, lease: 600, grace: 2, version: 1,
		ends: map[api.AttemptID]api.Finished{}, told: map[api.AttemptID]int{}, logs: map[logID][]byte{}, final: map[logID]bool{}, pictures: map[api.AttemptID]api.Picture{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/sync", f.serveSync)
	mux.HandleFunc("POST /v1/logs", f.serveLog)
	mux.HandleFunc("POST /v1/ends", f.serveEnds)
	mux.HandleFunc("POST /v1/pictures", f.servePicture)
	f.server = httptest.NewServer(mux)
	t.Cleanup(f.server.Close)
	return f
}

func (f *scriptedFarm) changed() {
	f.version++
	f.stir()
}

func (f *scriptedFarm) with(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	f.changed()
}

func (f *scriptedFarm) serveSync(w http.ResponseWriter, r *http.Request) {
	var s api.Sync
	if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
		http.Error(w, err.Error(), 400)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.Incarnation == f.last.Incarnation && s.Sequence <= f.last.Sequence {
		// its answer may be taken before that of the later one
		http.Error(w, "it came after a later sync", http.StatusConflict)
		return
	}
	f.last = s
	f.syncs++
	for _, end := range s.Finished {
		f.told[end.Attempt]++
		if _, known := f.ends[end.Attempt]; !known {
			f.ends[end.Attempt] = end
			if f.refill != nil {
				f.refill(f, end)
			}
		}
		key := core.Key{Job: end.Attempt.Job, Instance: end.Instance}
		if !f.keep && f.wanted[key].Attempt == end.Attempt {
			delete(f.wanted, key)
		}
	}
	f.stir()
	until := time.After(time.Duration(s.HoldSeconds * float64(time.Second)))
	news := len(s.Finished) > 0 || f.greeted != s.Incarnation
	parting := f.parting > 0
	if parting {
		f.lease, f.parting, news = f.parting, 0, true
	}
	for f.mute || !news && f.answered == f.version {
		wake := f.wake
		f.mu.Unlock()
		select {
		case <-wake:
		case <-until:
			news = true
		case <-r.Context().Done():
		}
		f.mu.Lock()
		if r.Context().Err() != nil || f.last.Sequence != s.Sequence || f.last.Incarnation != s.Incarnation {
			http.Error(w, "given up for a later sync", http.StatusConflict)
			return
		}
	}
	f.answered, f.greeted = f.version, s.Incarnation
	json.NewEncoder(w).Encode(newer(f.reply(s)))
	f.mute = f.mute || parting
}

// newer is an answer as a later release would write it: with members that this one does not know.
func newer(reply api.SyncReply) any {
	type desired struct {
		api.Desired
		Newer []string `json:"gpu_share"`
	}
	type laterReply struct {
		api.SyncReply
		Instances []desired      `json:"instances"`
		Newer     map[string]int `json:"weather"`
	}
	later := laterReply{SyncReply: reply, Newer: map[string]int{"rain": 1}}
	for _, d := range reply.Instances {
		later.Instances = append(later.Instances, desired{d, []string{"half"}})
	}
	return later
}

var scriptedKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// signedTerm is a term of the scripted farm.
func signedTerm(epoch int64) *api.Term {
	return &api.Term{Farm: []byte(scriptedKey.Public().(ed25519.PublicKey)), Lineage: "scripted", Epoch: epoch, Began: epoch,
		Signature: ed25519.Sign(scriptedKey, api.TermMessage("scripted", epoch, epoch))}
}

func (f *scriptedFarm) reply(s api.Sync) api.SyncReply {
	reply := api.SyncReply{Epoch: f.epoch, Term: signedTerm(f.epoch), Sequence: s.Sequence, Answer: 2*s.Sequence + 1, LeaseSeconds: f.lease, GraceSeconds: f.grace, Now: time.Now(), AskEnds: f.askEnds}
	held := map[int64]int64{}
	for _, j := range s.Jobs {
		held[j.Job] = j.Version
	}
	for _, d := range f.wanted {
		reply.Instances = append(reply.Instances, d)
		if spec := f.specs[d.Attempt.Job]; held[spec.Job] != spec.Version {
			reply.Jobs = append(reply.Jobs, spec)
		}
	}
	return reply
}

func (f *scriptedFarm) serveLog(w http.ResponseWriter, r *http.Request) {
	var c api.LogChunk
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		http.Error(w, err.Error(), 400)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	id := logID{c.Attempt, c.Session}
	held := f.logs[id]
	if at := int64(len(held)) - c.Offset; at >= 0 && at <= int64(len(c.Data)) {
		f.logs[id] = append(held, c.Data[at:]...)
		f.final[id] = f.final[id] || c.Final
	}
	f.stir()
	json.NewEncoder(w).Encode(api.LogReply{Size: int64(len(f.logs[id]))})
}

func (f *scriptedFarm) serveEnds(w http.ResponseWriter, r *http.Request) {
	var page api.EndsPage
	if err := json.NewDecoder(r.Body).Decode(&page); err != nil {
		http.Error(w, err.Error(), 400)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pages = append(f.pages, page)
	f.stir()
	json.NewEncoder(w).Encode(api.EndsReply{Wanted: true})
}

// stir lets all who wait look again.
func (f *scriptedFarm) stir() {
	close(f.wake)
	f.wake = make(chan struct{})
}

// want asks for an attempt of a job; command and so on come from the job's specification.
func (f *scriptedFarm) want(key core.Key, id api.AttemptID) {
	f.with(func() { f.wantLocked(key, id) })
}

func (f *scriptedFarm) wantLocked(key core.Key, id api.AttemptID) {
	f.wanted[key] = api.Desired{
		Instance: key.Instance, Kind: "primary", Attempt: id, Version: f.specs[key.Job].Version, Slots: 1,
		Name: fmt.Sprint(id.Item + 1), Start: fmt.Sprint(id.Item + 1), End: fmt.Sprint(id.Item + 1), Step: "1",
	}
}

func (f *scriptedFarm) job(id int64, command ...string) api.JobSpec {
	spec := api.JobSpec{Job: id, Version: 1, Name: "job", User: statedir.OwnName(), Command: command, Cwd: "/tmp", Agenda: true, PGrp: id}
	f.with(func() { f.specs[id] = spec })
	return spec
}

func (f *scriptedFarm) shellJob(id int64, line string) {
	spec := f.job(id, line)
	spec.Shell = true
	f.with(func() { f.specs[id] = spec })
}

var testPatience = patience()

// patience is how long to wait for what is sure to come, on a machine that has other work too; longer on a machine that
// is slow as a whole, such as an emulated one.
func patience() time.Duration {
	if long, err := time.ParseDuration(os.Getenv("QB_TEST_PATIENCE")); err == nil {
		return long
	}
	return 2 * time.Minute
}

// await blocks until the condition, looked at under the lock at each change, holds.
func (f *scriptedFarm) await(what string, holds func() bool) {
	f.t.Helper()
	deadline := time.After(testPatience)
	for {
		f.mu.Lock()
		if holds() {
			f.mu.Unlock()
			return
		}
		wake := f.wake
		f.mu.Unlock()
		select {
		case <-wake:
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			f.mu.Lock()
			defer f.mu.Unlock()
			f.t.Fatalf("waited in vain: %s; last sync %+v; ends %+v", what, f.last, f.ends)
		}
	}
}

// heard is the last sync.
func (f *scriptedFarm) heard() api.Sync {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

func (f *scriptedFarm) awaitEnd(id api.AttemptID) api.Finished {
	f.t.Helper()
	f.await("end of "+shim.AttemptName(id), func() bool { _, ok := f.ends[id]; return ok })
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ends[id]
}

func (f *scriptedFarm) awaitState(key core.Key, state string) api.SyncInstance {
	f.t.Helper()
	var found api.SyncInstance
	f.await(fmt.Sprintf("%s %s", key, state), func() bool {
		for _, i := range f.last.Instances {
			if i.Job == key.Job && i.Instance == key.Instance && i.State == state {
				found = i
				return true
			}
		}
		f.changed() // have the worker speak again
		return false
	})
	return found
}

func (f *scriptedFarm) awaitOutput(id api.AttemptID, text string) {
	f.t.Helper()
	f.await(fmt.Sprintf("%q in the log of %s", text, shim.AttemptName(id)), func() bool {
		return bytes.Contains(plainLog(f.t, f.logs[logID{AttemptID: id}], 0), []byte(text))
	})
}

// awaitSession waits for a text in the log of the programs of an instance that began with that attempt.
func (f *scriptedFarm) awaitSession(first api.AttemptID, text string) {
	f.t.Helper()
	f.await(fmt.Sprintf("%q in the session's log of %s", text, shim.AttemptName(first)), func() bool {
		return bytes.Contains(plainLog(f.t, f.logs[logID{first, true}], 0), []byte(text))
	})
}

// output is what an attempt wrote; of an ended attempt all of it, which may come after its end.
func (f *scriptedFarm) output(id api.AttemptID, stream byte) string {
	f.t.Helper()
	f.await("all of the log of "+shim.AttemptName(id), func() bool {
		_, ended := f.ends[id]
		log := logID{AttemptID: id}
		return !ended || f.final[log] || len(f.logs[log]) == 0
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(plainLog(f.t, f.logs[logID{AttemptID: id}], stream))
}

// plainLog takes a log apart; stream 0 is both.
func plainLog(t testing.TB, data []byte, stream byte) (text []byte) {
	for len(data) > 0 {
		if len(data) < shim.HeaderSize {
			t.Fatalf("a log ends within a header: %q", data)
		}
		n := int(binary.LittleEndian.Uint32(data[1:shim.HeaderSize]))
		if len(data) < shim.HeaderSize+n {
			t.Fatalf("a log ends within a piece of %d bytes", n)
		}
		if stream == 0 || data[0] == stream {
			text = append(text, data[shim.HeaderSize:shim.HeaderSize+n]...)
		}
		data = data[shim.HeaderSize+n:]
	}
	return text
}

func testConfig(t testing.TB, f *scriptedFarm) settings.Config {
	c := settings.DefaultConfig()
	c.Name, c.CPUs, c.RunAs, c.DiskFloor = "h1", 4, settings.RunAsAgent, 0
	c.State = stateIn(t)
	c.Supervisor = []string{f.server.URL}
	return c
}

// stateIn is a state folder whose shims are gone when the test is: the folder's removal ends them. So is the folder of
// its items' own, which an agent that was killed leaves to its successor.
func stateIn(t testing.TB) string {
	dir := filepath.Join(t.TempDir(), "state")
	t.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error { // a test may move it further down
			var id string
			if err == nil && entry.Name() == "id" && shim.ReadSealed(path, &id) == nil {
				t.Cleanup(func() { _ = os.RemoveAll(shim.TempsOf(id)) })
			}
			return nil // what cannot be read may be going at this moment
		})
		entries, _ := os.ReadDir(filepath.Join(dir, "i"))
		for _, e := range entries {
			if now, err := readNow(filepath.Join(dir, "i", e.Name())); err == nil && now.Shim.Alive() {
				proc.SignalTree(now.Shim.PID, syscall.SIGKILL)
				syscall.Kill(now.Shim.PID, syscall.SIGKILL)
			}
		}
	})
	return dir
}

// runAgent runs an agent in this process; it stops its items when the test ends.
func runAgent(t testing.TB, c settings.Config) (stop func()) {
	t.Helper()
	return runAgentWith(t, c, true)
}

func runAgentWith(t testing.TB, c settings.Config, stopItems bool) (stop func()) {
	t.Helper()
	return runAgentLogging(t, c, stopItems, slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func runAgentLogging(t testing.TB, c settings.Config, stopItems bool, handler slog.Handler) (stop func()) {
	t.Helper()
	options := testOptions(handler)
	options.StopItems = func() bool { return stopItems }
	return runAgentOptions(t, c, options)
}

func runAgentOptions(t testing.TB, c settings.Config, options Options) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, c, options) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the agent ended with: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) { w.t.Logf("%s", p); return len(p), nil }

// startAgent runs an agent as a process of its own, to be killed.
func startAgent(t *testing.T, c settings.Config) *exec.Cmd {
	t.Helper()
	config, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "agent", string(config))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

func kill9(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
}

func attempt(job int64, item int) api.AttemptID {
	return api.AttemptID{Job: job, Item: item, Number: 1}
}
