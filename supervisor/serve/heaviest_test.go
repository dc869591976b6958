package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/supervisor/farm"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/share/planner"
	"qb/supervisor/store"
	"qb/supervisor/why/explain"
	"qb/supervisor/wire/settings"
)

// What one request may cost at most, however heavy it is, on a farm of heavyHosts hosts that are full. Times are of the
// processor, so that a busy machine changes little, in units of yardstick, so that a slow one or the race detector does
// not.
const (
	heavyHosts, heavySlots = 40, 16

	mostStep = 50 // units in one turn of what the loop does
	// units of all of the process: reading, parsing, stepping, encoding; twice what the heaviest takes on a busy machine
	mostAround = 800
	mostRows   = 10_100 // of one commit
	mostBytes  = 24 << 20
)

// scales is a farm that weighs what the loop has it do.
type scales struct {
	term.Machine
	mu   sync.Mutex
	most time.Duration
	what string
}

// unhurried is a store whose commits and proofs may take as long as they need: on a busy machine no term ends.
type unhurried struct{ Backing }

func (u unhurried) Lead(ctx context.Context) (store.Term, error) {
	term, err := u.Backing.Lead(ctx)
	return unhurriedTerm{term}, err
}

type unhurriedTerm struct{ store.Term }

func (t unhurriedTerm) Commit(ctx context.Context, writes []facts.Write) error {
	return t.Term.Commit(context.WithoutCancel(ctx), writes)
}

func (t unhurriedTerm) Check(ctx context.Context) error {
	return t.Term.Check(context.WithoutCancel(ctx))
}

func cpuOf(who int) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// weigh notes what work took of the processor; the loop turns in one goroutine.
func (s *scales) weigh(what string, work func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := cpuOf(unix.RUSAGE_THREAD)
	work()
	took := cpuOf(unix.RUSAGE_THREAD) - began
	s.mu.Lock()
	defer s.mu.Unlock()
	if took > s.most {
		s.most, s.what = took, what
	}
}

// taken is the heaviest turn since it was last asked.
func (s *scales) taken() (time.Duration, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.most, s.what = 0, "" }()
	return s.most, s.what
}

func (s *scales) Step(now time.Time, e message.Event) {
	s.weigh(fmt.Sprintf("stepping %T", e), func() { s.Machine.Step(now, e) })
}
func (s *scales) Plan(now time.Time) { s.weigh("planning", func() { s.Machine.Plan(now) }) }
func (s *scales) Take(now time.Time) (b outbox.Batch) {
	s.weigh("taking", func() { b = s.Machine.Take(now) })
	return b
}
func (s *scales) View(now time.Time) (v *message.View) {
	s.weigh("making the view", func() { v = s.Machine.View(now) })
	return v
}
func (s *scales) Changed(now time.Time, replies []outbox.Reply) (p message.ViewDelta, all bool) {
	s.weigh("showing what changed", func() { p, all = s.Machine.Changed(now, replies) })
	return p, all
}
func (s *scales) Snapshot(now time.Time) (v planner.Snapshot) {
	s.weigh("making the snapshot", func() { v = s.Machine.Snapshot(now) })
	return v
}
func (s *scales) Explain(now time.Time, id facts.JobID) (x explain.Explanation, ok bool) {
	s.weigh("explaining", func() { x, ok = s.Machine.Explain(now, id) })
	return x, ok
}
func (s *scales) CheckSubmission(now time.Time, e message.JobSubmitted) (remarks []string, refusal *outbox.Refusal) {
	s.weigh("checking a submission", func() { remarks, refusal = s.Machine.CheckSubmission(now, e) })
	return remarks, refusal
}
func (s *scales) SnapshotWith(now time.Time,
	list []message.JobSubmitted) (v planner.Snapshot, supposed message.TrialReply, refusal *outbox.Refusal) {
	s.weigh("making the snapshot with a submission", func() { v, supposed, refusal = s.Machine.SnapshotWith(now, list) })
	return v, supposed, refusal
}
func (s *scales) ExplainSubmission(now time.Time, e message.JobSubmitted) (why facts.Why) {
	s.weigh("explaining a submission", func() { why = s.Machine.ExplainSubmission(now, e) })
	return why
}
func (s *scales) Shares(now time.Time) (r accounting.Report) {
	s.weigh("adding up shares", func() { r = s.Machine.Shares(now) })
	return r
}

// yardstick is the processor time that this program needs here to encode and decode a list of 2,000 entries, some 10
// ms.
func yardstick(t *testing.T) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	list := make([]map[string]any, 2000)
	for n := range list {
		list[n] = map[string]any{"id": n, "name": strconv.Itoa(n), "state": "running", "slots": []int{n, n + 1, n + 2}}
	}
	var took []time.Duration
	for range 9 {
		began := cpuOf(unix.RUSAGE_THREAD)
		data, err := json.Marshal(list)
		if err == nil {
			err = json.Unmarshal(data, &[]map[string]any{})
		}
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, cpuOf(unix.RUSAGE_THREAD)-began)
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// heavyRig is a full farm whose loop and commits are weighed.
type heavyRig struct {
	*rig
	weighed *weighed
	scales  *scales
	agents  []*agent
	user    *api.Client
	tokens  map[api.Role]string
	family  []int64 // jobs that others wait for
	unit    time.Duration
	beaten  time.Time
	silent  bool
}

func startHeavy(t *testing.T) *heavyRig {
	h := &heavyRig{scales: &scales{}, tokens: map[api.Role]string{}, unit: yardstick(t)}
	t.Logf("a unit of processor time is %s", h.unit)
	h.rig = startRig(t, func(c *settings.Config, o *Options) {
		h.weighed = &weighed{Backing: unhurried{newStore(t)}}
		o.Store.(*faultyStore).Backing = h.weighed
		o.rebuild = func(p message.Policy, f facts.Facts, now time.Time) (term.Machine, error) {
			f.Profiles = heavyProfiles(now)
			m, err := farm.Rebuild(p, f, now)
			h.scales.Machine = m
			return h.scales, err
		}
		c.Accounts, c.Resources = "open", "license.heavy=1"
		c.UserSubmitted, c.UserChanges = 0, 0 // one request at a time is weighed, not how many
		c.Liveness, c.ExecutionLease = settings.Duration(time.Hour), settings.Duration(2*time.Hour)
		silent := *c
		silent.Liveness = settings.Duration(time.Second)
		o.Reload = func() (Reloaded, error) { return Reloaded{Config: silent}, nil }
	})
	for _, role := range []api.Role{api.ReadOnly, api.User, api.Operator, api.Admin, api.Worker} {
		h.tokens[role] = h.token("mallory", role)
	}
	h.user = h.client("mallory", api.User)
	for n := range heavyHosts {
		a := h.agent(fmt.Sprintf("rn%03d", n), heavySlots)
		a.sync.Properties, a.sync.Resources = map[string]string{"os": "linux"}, map[string]int{"host.gpus": 4}
		a.sync.Settings = slices.Repeat([]api.Setting{{Key: "worker_cluster", Value: strings.Repeat("x", 1000),
			Origin: "own"}}, 100)
		a.beat(0)
		h.agents = append(h.agents, a)
	}
	h.submit(api.SubmitRequest{Command: []string{"true"}, Range: "1-100000", CPUs: ptr(heavyHosts * heavySlots)})
	for _, a := range h.agents {
		for len(a.running) < heavySlots {
			a.beat(0)
		}
	}
	return h
}

func (h *heavyRig) submit(r api.SubmitRequest) int64 {
	h.t.Helper()
	return must[api.SubmitReply](h.t, h.user, api.Submit, nil, r).Job
}

func (h *heavyRig) order(job int64, action, items string) {
	h.t.Helper()
	must[api.ActionReply](h.t, h.user, api.OrderJob, params("job", job, "action", action), api.ActionRequest{Items: items})
}

// ofSilence says whether an endpoint is for hosts that have fallen silent: those come last.
func ofSilence(e api.Endpoint) bool {
	return e.ID == api.ReleaseBrake.ID || e.ID == api.ConfirmDead.ID || e.ID == api.RemoveHost.ID
}

// beat has the hosts run what they are to run, now and then.
func (h *heavyRig) beat() {
	if h.silent || time.Since(h.beaten) < 3*time.Second {
		return
	}
	h.beaten = time.Now()
	var all sync.WaitGroup
	for _, a := range h.agents {
		all.Go(func() { a.beat(0) })
	}
	all.Wait()
}

// silence lets all hosts fall silent at once: from now on those count as silent that were not heard for a second.
func (h *heavyRig) silence() {
	h.silent = true
	must[api.RereadReply](h.t, h.client("boss", api.Admin), api.Reread, nil, nil)
	eventually(h.t, "the brake", func() bool { return must[api.Ping](h.t, h.user, api.PingFarm, nil, nil).Brake != "" })
}

// request is the heaviest request that the endpoint's limits allow.
type request struct {
	name   string
	path   string
	query  string
	body   string
	stream bool // it is answered without an end: only its beginning is read
}

// TestHeaviestRequests sends each endpoint the heaviest requests that it accepts, and holds each to the same bounds of
// work: of one turn of the loop, of one commit, and of all around it. An endpoint without a row fails.
func TestHeaviestRequests(t *testing.T) {
	h := startHeavy(t)
	for _, e := range append(slices.DeleteFunc(slices.Clone(api.Endpoints), ofSilence), api.ReleaseBrake, api.ConfirmDead,
		api.RemoveHost) {
		rows, ok := heaviest[e.ID]
		if !ok && isPlainRead(e) {
			rows = func(*heavyRig) []request { return []request{{name: "all", path: e.Path}} }
		} else if !ok {
			t.Errorf("endpoint %s has no row in heaviest: write there the heaviest requests that it accepts", e.ID)
			continue
		}
		for _, request := range rows(h) {
			h.hold(t, e, request)
		}
	}
	for id := range heaviest {
		if !slices.ContainsFunc(api.Endpoints, func(e api.Endpoint) bool { return e.ID == id }) {
			t.Errorf("heaviest has a row for %s, which is no endpoint", id)
		}
	}
}

// hold sends a request and holds it to the bounds.
func (h *heavyRig) hold(t *testing.T, e api.Endpoint, q request) {
	t.Helper()
	h.beat()
	time.Sleep(50 * time.Millisecond) // what the last one left is done
	h.scales.taken()
	h.weighed.taken()
	role, path := e.Role, e.Path
	if role == api.Anyone {
		role = api.ReadOnly
	}
	if q.path != "" {
		path = q.path
	}
	before, began := cpuOf(unix.RUSAGE_SELF), time.Now()
	status, answer := h.send(e.Method, path+q.query, h.tokens[role], q.body, q.stream)
	time.Sleep(150 * time.Millisecond) // a plan and a tick after it belong to it
	around, took := cpuOf(unix.RUSAGE_SELF)-before, time.Since(began)-150*time.Millisecond
	step, what := h.scales.taken()
	is := h.weighed.taken()
	t.Logf(
		"%-15s %-28s %d: %8d B in, %9d B out; heaviest turn %7.1f ms (%s), process %7.1f ms, took %5.0f ms; commit %5d rows, %8d bytes",
		e.ID, q.name, status, len(q.body), len(answer), ms(step), what, ms(around), ms(took), is.rows, is.bytes)
	if status >= 300 {
		t.Errorf("%s, %s: refused with %d, so it is not the heaviest that is accepted: %s", e.ID, q.name, status,
			problem.ClipTo(answer, 300))
	}
	mostStep, mostAround := mostStep*h.unit, mostAround*h.unit
	if step > mostStep || around > mostAround || is.rows > mostRows || is.bytes > mostBytes {
		t.Errorf(
			"%s, %s: %v in one turn (%s), %v in all, %d rows and %d bytes in one commit; at most %v, %v, %d and %d are right",
			e.ID, q.name, step, what, around, is.rows, is.bytes, mostStep, mostAround, mostRows, mostBytes)
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// send sends a request, and repeats it under its key while the supervisor finds no time for it, as commands do.
func (h *heavyRig) send(method, path, token, body string, stream bool) (status int, answer string) {
	h.t.Helper()
	key := rand.Text()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		late := status == http.StatusServiceUnavailable
		status, answer = h.sendOnce(method, path, token, body, key, stream)
		if late && status == http.StatusConflict && path == api.SyncWorker.Path {
			return http.StatusOK, answer // a sync has no key: the first was taken, but no time was found to answer it
		}
		if status != http.StatusServiceUnavailable || time.Now().After(end) {
			return status, answer
		}
	}
}

func (h *heavyRig) sendOnce(method, path, token, body, key string, stream bool) (int, string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Idempotency-Key", key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	if stream {
		return resp.StatusCode, ""
	}
	return resp.StatusCode, text(h.t, resp)
}
