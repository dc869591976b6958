package serve

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/access/credentials"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/farmkey"
	"qb/supervisor/lead/termwatch"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
)

// rig is a whole supervisor on a memory store, reached over real HTTP.
type rig struct {
	t      testing.TB
	url    string
	socket string
	state  string
	store  *faultyStore
	log    *logBuffer
	stop   func() error
}

type rigOption func(*settings.Config, *Options)

// startRig runs a supervisor until the test ends.
func startRig(t testing.TB, opts ...rigOption) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "qb") // short: a unix socket's path has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &rig{t: t, state: dir, socket: filepath.Join(dir, "s"), store: &faultyStore{Backing: newStore(t)},
		log: &logBuffer{}}
	cfg := settings.DefaultConfig()
	cfg.Listen, cfg.State, cfg.Socket = "127.0.0.1:0", dir, r.socket
	ready := make(chan string, 1)
	options := Options{
		Store: r.store, Key: testKey, Version: "test", Log: slog.New(slog.NewTextHandler(r.log, nil)),
		Ready: func(url string) { ready <- url }, checkEvery: 50 * time.Millisecond,
	}
	for _, o := range opts {
		o(&cfg, &options)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, cfg, options) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
		if t.Failed() {
			t.Logf("log of the supervisor:\n%s", r.log)
		}
	})
	select {
	case r.url = <-ready:
	case err := <-ended:
		t.Fatalf("the supervisor did not begin: %v\n%s", err, r.log)
	}
	return r
}

type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// token makes a token of a user.
func (r *rig) token(user string, role api.Role) string {
	r.t.Helper()
	text, _, err := credentials.Make(context.Background(), testKey, r.store,
		credentials.Request{User: user, Role: role, Days: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	return text
}

func (r *rig) client(user string, role api.Role) *api.Client {
	r.t.Helper()
	address := r.url
	if strings.HasPrefix(address, "https:") {
		address = "unix:" + r.socket
	}
	c, err := api.NewClient(address, r.token(user, role))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.CloseIdle)
	return c
}

// must calls an endpoint and fails the test on a refusal. Like a command it repeats what a busy supervisor found no
// time to answer.
func must[T any](t testing.TB, c *api.Client, e api.Endpoint, params api.Params, in any) T {
	t.Helper()
	var out T
	key := http.Header{"Idempotency-Key": {rand.Text()}}
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		err := c.CallWith(t.Context(), e, params, in, &out, key)
		if err == nil {
			return out
		}
		if api.Refusal(err).Kind != api.KindUnavailable || time.Now().After(end) {
			t.Fatalf("%s: %v", e.ID, err)
		}
	}
}

// refused calls an endpoint and wants a refusal of that kind, whose text it returns. It repeats what a busy supervisor
// found no time to answer, as must does.
func refused(t testing.TB, kind api.Kind, c *api.Client, e api.Endpoint, params api.Params, in any) string {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		err := c.Call(t.Context(), e, params, in, nil)
		var refusal *api.Error
		switch {
		case errors.As(err, &refusal) && refusal.Kind == kind:
			return refusal.Text
		case refusal == nil || refusal.Kind != api.KindUnavailable || time.Now().After(end):
			t.Fatalf("%s: want a refusal %s, got %v", e.ID, kind, err)
		}
	}
}

// raw sends a request as it is.
func (r *rig) raw(method, path, token, body string, header http.Header) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if host := header.Get("Host"); host != "" {
		req.Host = host
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func text(t testing.TB, resp *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func params(pairs ...any) api.Params {
	p := api.Params{}
	for n := 0; n+1 < len(pairs); n += 2 {
		p[pairs[n].(string)] = fmt.Sprint(pairs[n+1])
	}
	return p
}

func ptr[T any](v T) *T { return &v }

// agent is a scripted worker: it reports what the test sets.
type agent struct {
	t        testing.TB
	client   *api.Client
	token    string // of an enrolled one
	sync     api.Sync
	heard    *api.SyncReply
	running  map[api.AttemptID]api.SyncInstance
	finished []api.Finished
}

func (r *rig) agent(host string, slots int) *agent {
	return &agent{t: r.t, client: r.client("agent", api.Worker), running: map[api.AttemptID]api.SyncInstance{},
		sync: api.Sync{Protocol: api.Protocol,
			Host: host, MachineID: "m-" + host, BootID: "boot", StateID: "state", Incarnation: "one", Slots: slots,
			Memory: api.SyncMemory{Total: 8 << 30, Available: 8 << 30}, Cluster: "/", RunAs: "owner",
			Settings: []api.Setting{{Key: "worker_cpus", Value: strconv.Itoa(slots), Origin: "own"}},
		}}
}

// beat syncs once and takes what it hears for running. Like a worker, it asks again when there is no answer in time.
func (a *agent) beat(hold float64) *api.SyncReply {
	a.t.Helper()
	a.sync.HoldSeconds, a.sync.Instances, a.sync.Finished = hold, nil, a.finished
	for _, i := range a.running {
		a.sync.Instances = append(a.sync.Instances, i)
	}
	var reply api.SyncReply
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		a.sync.Sequence++
		err := a.client.Call(a.t.Context(), api.SyncWorker, nil, a.sync, &reply)
		if err == nil {
			break
		}
		var refusal *api.Error
		if !errors.As(err, &refusal) || refusal.Kind != api.KindUnavailable || time.Now().After(end) {
			a.t.Fatalf("sync: %v", err)
		}
	}
	a.sync.Heard = reply.Answer
	if reply.Epoch != a.sync.Epoch { // a registration; what was said counts when it is said again
		a.sync.Epoch = reply.Epoch
		return a.beat(hold)
	}
	a.heard, a.finished = &reply, nil
	desired := map[api.AttemptID]bool{}
	for _, d := range reply.Instances {
		desired[d.Attempt] = true
		a.running[d.Attempt] = api.SyncInstance{Job: d.Attempt.Job, Instance: d.Instance, Attempt: d.Attempt,
			State: "running"}
	}
	for id := range a.running {
		if !desired[id] {
			delete(a.running, id)
		}
	}
	return &reply
}

// finish ends all that runs with that exit code; the next beat tells it.
func (a *agent) finish(code int) {
	for id, i := range a.running {
		a.finished = append(a.finished, api.Finished{Attempt: id, Instance: i.Instance, Outcome: "exit", ExitCode: &code,
			Wall: 1.5, CPU: 1, PeakMemory: 1 << 20})
		delete(a.running, id)
	}
}

// until beats until something runs, or tells that nothing does.
func (a *agent) until(what string, done func() bool) {
	a.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); a.beat(0.2) {
		if done() {
			return
		}
	}
	a.t.Fatalf("never came about: %s", what)
}

// faultyStore fails on demand.
type faultyStore struct {
	Backing
	failCommit atomic.Bool // it makes nothing durable
	loseAnswer atomic.Bool // a commit makes all durable, but is not heard
	failCheck  atomic.Bool
	failRead   atomic.Bool
	holdCommit atomic.Pointer[chan struct{}]
	terms      atomic.Int64
	tokenReads atomic.Int64
	ahead      atomic.Int64     // by which the database's clock is ahead of this machine's
	advertised func(url string) // called when the listeners are open; may be nil
}

// asStandby lets a rig begin as soon as it listens, whether it leads or not.
func asStandby(_ *settings.Config, o *Options) { o.Store.(*faultyStore).advertised = o.Ready }

func (s *faultyStore) Advertise(url string) {
	s.Backing.Advertise(url)
	if s.advertised != nil {
		s.advertised(url)
	}
}

var errFault = errors.New("a fault by design")

func (s *faultyStore) Lead(ctx context.Context) (store.Term, error) {
	term, err := s.Backing.Lead(ctx)
	if err != nil {
		return nil, err
	}
	s.terms.Add(1)
	return &faultyTerm{Term: term, store: s}, nil
}

func (s *faultyStore) Jobs(ctx context.Context, q store.JobQuery) ([]facts.JobView, error) {
	if s.failRead.Load() {
		return nil, errFault
	}
	return s.Backing.Jobs(ctx, q)
}

func (s *faultyStore) Token(ctx context.Context, id string) (store.Token, bool, error) {
	if s.failRead.Load() {
		return store.Token{}, false, errFault
	}
	return s.Backing.Token(ctx, id)
}

func (s *faultyStore) GoodTokens(ctx context.Context, now time.Time) ([]store.Token, error) {
	s.tokenReads.Add(1)
	if s.failRead.Load() {
		return nil, errFault
	}
	return s.Backing.GoodTokens(ctx, now)
}

type faultyTerm struct {
	store.Term
	store *faultyStore
}

func (t *faultyTerm) Commit(ctx context.Context, writes []facts.Write) error {
	if hold := t.store.holdCommit.Load(); hold != nil {
		select {
		case <-*hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if t.store.failCommit.Load() {
		return errFault
	}
	err := t.Term.Commit(ctx, writes)
	if err == nil && t.store.loseAnswer.Load() {
		return errFault
	}
	return err
}

func (t *faultyTerm) Began() time.Time {
	return t.Term.Began().Add(time.Duration(t.store.ahead.Load()))
}

func (t *faultyTerm) Check(ctx context.Context) error {
	if t.store.failCheck.Load() {
		return errFault
	}
	return t.Term.Check(ctx)
}

func decode[T any](t testing.TB, body string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

// patience is how long to wait for what is sure to come, on a machine that has other work too.
const patience = 2 * time.Minute

// eventually waits for what other goroutines bring about; it sets no pace, only an end.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("never came about: %s", what)
}

// testKey is the key of all farms in tests.
var testKey = farmkey.New()

// testWatch is of a term after which nothing was put back.
func testWatch(epoch int64) *termwatch.Watch {
	return termwatch.New(testKey, epoch, time.UnixMicro(epoch), store.Descent{Lineage: "here"}, facts.Facts{}, 0, 0)
}
