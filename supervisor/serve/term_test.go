package serve

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/metrics"
	"qb/supervisor/lead/term"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
)

// endTerm makes the term end and waits for the next one.
func (r *rig) endTerm() {
	r.t.Helper()
	before := r.store.terms.Load()
	r.store.failCheck.Store(true)
	eventually(r.t, "the term ends", func() bool { return !healthy(r) })
	r.store.failCheck.Store(false)
	eventually(r.t, "the next term", func() bool { return r.store.terms.Load() > before && healthy(r) })
}

func healthy(r *rig) bool {
	resp, err := http.Get(r.url + "/healthz")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// TestCommitFails: the term ends, who waits is refused, nothing was said, the next term has what is in the rows.
func TestCommitFails(t *testing.T) {
	r := startRig(t)
	u1 := r.client("u1", api.User)
	kept := must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-3"})
	before := must[api.Ping](t, u1, api.PingFarm, nil, nil).Epoch
	r.store.failCommit.Store(true)
	resp := r.raw("POST", "/v1/jobs", r.token("u1", api.User), `{"command":["y"]}`, nil)
	if body := text(t, resp); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" ||
		!strings.Contains(body, "urn:qb:error:unavailable") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	r.store.failCommit.Store(false)
	eventually(t, "the next term", func() bool { return healthy(r) })
	if after := must[api.Ping](t, u1, api.PingFarm, nil, nil).Epoch; after <= before {
		t.Errorf("epoch %d after %d", after, before)
	}
	jobs := must[[]api.Job](t, u1, api.ListJobs, nil, nil)
	if len(jobs) != 1 || jobs[0].ID != kept.Job {
		t.Errorf("jobs %+v", jobs)
	}
}

// TestCommitHangs: many wait, all are refused, none for ever; a worker's sync gets no lease.
func TestCommitHangs(t *testing.T) {
	r := startRig(t)
	u1 := r.client("u1", api.User)
	hold := make(chan struct{})
	r.store.holdCommit.Store(&hold)
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			err := u1.Call(t.Context(), api.Submit, nil, api.SubmitRequest{Command: []string{"x"}}, nil)
			var refusal *api.Error
			if !errors.As(err, &refusal) || refusal.Kind != api.KindUnavailable {
				t.Errorf("want unavailable, got %v", err)
			}
		})
	}
	eventually(t, "a commit is in flight", func() bool { return strings.Contains(r.metrics(), "qb_commits_total") })
	r.store.failCommit.Store(true)
	r.store.holdCommit.Store(nil)
	close(hold)
	wait.Wait()
	r.store.failCommit.Store(false)
	eventually(t, "the next term", func() bool { return healthy(r) })
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}})
}

func (r *rig) metrics() string {
	r.t.Helper()
	return text(r.t, r.raw("GET", "/metrics", r.token("mon", api.ReadOnly), "", nil))
}

// brokenFarm panics on a submission of the name panic.
type brokenFarm struct{ term.Machine }

func (f brokenFarm) Step(now time.Time, e message.Event) {
	if s, ok := e.(message.JobSubmitted); ok && s.Facts.Name == "panic" {
		panic("an invariant is broken")
	}
	f.Machine.Step(now, e)
}

// TestPanic: a broken invariant ends the term, not the process.
func TestPanic(t *testing.T) {
	r := startRig(t, func(_ *settings.Config, o *Options) {
		o.rebuild = func(p message.Policy, f facts.Facts, now time.Time) (term.Machine, error) {
			m, err := farm.Rebuild(p, f, now)
			return brokenFarm{m}, err
		}
	})
	u1 := r.client("u1", api.User)
	refused(t, api.KindUnavailable, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Name: "panic"})
	eventually(t, "the next term", func() bool { return r.store.terms.Load() > 1 && healthy(r) })
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}})
	if log := r.log.String(); !strings.Contains(log, "an invariant is broken") || !strings.Contains(log, "loop.go") ||
		!strings.Contains(log, "sender=\"JobSubmitted by u1\"") {
		t.Errorf("the log lacks the panic or its stack: %s", log)
	}
}

// TestBetweenTerms: without a term changes and syncs are refused, lists are answered, health says no.
func TestBetweenTerms(t *testing.T) {
	r := startRig(t)
	u1, worker := r.client("u1", api.User), r.agent("h1", 1)
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-2"})
	worker.beat(0)
	r.store.failCheck.Store(true)
	eventually(t, "the term ends", func() bool { return !healthy(r) })
	refused(t, api.KindUnavailable, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}})
	refused(t, api.KindUnavailable, u1, api.ListHosts, nil, nil)
	worker.sync.Sequence++
	refused(t, api.KindUnavailable, worker.client, api.SyncWorker, nil, worker.sync)
	if jobs := must[[]api.Job](t, u1, api.ListJobs, nil, nil); len(jobs) != 1 {
		t.Errorf("jobs %+v", jobs)
	}
	if ping := must[api.Ping](t, u1, api.PingFarm, nil, nil); ping.Leader {
		t.Errorf("ping %+v", ping)
	}
	r.store.failCheck.Store(false)
	eventually(t, "the next term", func() bool { return healthy(r) })
	r.store.failRead.Store(true)
	refused(t, api.KindUnavailable, u1, api.ListJobs, nil, nil)
}

// TestRunningWorkSurvives: the items that ran when a term ended are adopted by the next one.
func TestRunningWorkSurvives(t *testing.T) {
	r := startRig(t)
	u1, worker := r.client("u1", api.User), r.agent("h1", 2)
	worker.beat(0)
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-2", CPUs: ptr(2)})
	worker.until("both run", func() bool { return len(worker.running) == 2 })
	epoch := worker.heard.Epoch
	r.endTerm()
	if reply := worker.beat(0); reply.Epoch <= epoch || len(reply.Instances) != 2 {
		t.Errorf("epoch %d after %d, %d instances", reply.Epoch, epoch, len(reply.Instances))
	}
	worker.finish(0)
	worker.beat(0)
	eventually(t, "the job is complete", func() bool {
		job := must[api.Job](t, u1, api.GetJob, params("job", 1), nil)
		return job.Items.Complete == 2 && job.Status == "complete"
	})
}

// answerer is a farm that answers each report of a worker with a lease, and hands the report on.
type answerer struct {
	term.Machine
	heard   chan message.WorkerSynced
	replies []outbox.Reply
}

func (a *answerer) Step(_ time.Time, e message.Event) {
	if e, ok := e.(message.WorkerSynced); ok {
		a.heard <- e
		a.replies = append(a.replies, outbox.Reply{Ticket: e.Ticket, Body: message.SyncReply{Lease: time.Hour}})
	}
}

func (a *answerer) Plan(time.Time) {}

func (a *answerer) PlanBreaks() []message.PlanBreak { return nil }

func (a *answerer) Full() bool { return false }

func (a *answerer) View(time.Time) *message.View { return &message.View{} }

func (a *answerer) Changed(time.Time, []outbox.Reply) (message.ViewDelta, bool) {
	return message.ViewDelta{}, true
}

func (a *answerer) Take(time.Time) outbox.Batch {
	b := outbox.Batch{Replies: a.replies}
	a.replies = nil
	return b
}

// answering is a loop over such a farm.
func answering(t *testing.T) (*term.Loop, <-chan message.WorkerSynced) {
	heard := make(chan message.WorkerSynced, 10)
	l := term.NewLoop(&answerer{heard: heard}, 1, testWatch(1), term.Clock{}, func(term.Display, []facts.Write) {})
	go func() { _ = l.Run(t.Context()) }()
	return l, heard
}

// TestOldProof: with no young proof of the term a sync is not answered.
func TestOldProof(t *testing.T) {
	l, _ := answering(t)
	l.Proven(term.SinceBoot() - 6*time.Second)
	if l.ProofAge() < store.TrustFor {
		t.Fatalf("age %v", l.ProofAge())
	}
	s := newWorkerService(&backend{metrics: metrics.New(metrics.Sources{})})
	s.loop.Store(l)
	in := &syncIn{api.Sync{Protocol: api.Protocol, Host: "h", MachineID: "m", BootID: "b", StateID: "s", Incarnation: "i",
		Sequence: 1}}
	if out, err := s.syncWorker(t.Context(), in); err == nil {
		t.Errorf("answered %+v", out.Body)
	}
}

// TestLag: while the loop reads nothing, ping and the metrics say for how long a worker's report has waited.
func TestLag(t *testing.T) {
	r := startRig(t)
	if ping := must[api.Ping](t, r.client("eye", api.ReadOnly), api.PingFarm, nil, nil); ping.LagSeconds > 0.5 {
		t.Errorf("a supervisor at rest lags by %v s", ping.LagSeconds)
	}
	if m := r.metrics(); !strings.Contains(m, "\nqb_lag_seconds ") {
		t.Error("the metrics lack qb_lag_seconds")
	}
	stands := term.NewLoop(&answerer{}, 1, testWatch(1), term.Clock{}, func(term.Display, []facts.Write) {}) // it is not run
	go func() { _, _ = stands.AskSync(t.Context(), time.Minute, message.WorkerSynced{Sequence: 1}) }()
	b := &backend{}
	if b.lag() != 0 {
		t.Error("a supervisor that does not lead lags")
	}
	b.loop.Store(stands)
	for began := time.Now(); b.lag() < 20*time.Millisecond; time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("a report waits, and the lag is %s", b.lag())
		}
	}
}

// TestStop: a graceful stop ends held syncs and streams and gives the term back.
func TestStop(t *testing.T) {
	r := startRig(t)
	worker := r.agent("h1", 0)
	worker.beat(0)
	worker.sync.Sequence, worker.sync.HoldSeconds = worker.sync.Sequence+1, 20
	held := make(chan error, 1)
	go func() { held <- worker.client.Call(t.Context(), api.SyncWorker, nil, worker.sync, nil) }()
	events := r.raw("GET", "/v1/events", r.token("u1", api.User), "", nil)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	var refusal *api.Error
	if err := <-held; !errors.As(err, &refusal) || refusal.Kind != api.KindUnavailable {
		t.Errorf("the held sync heard %v", err)
	}
	_ = text(t, events)
	if _, err := r.store.Backing.Lead(t.Context()); err != nil {
		t.Errorf("the term was not given back: %v", err)
	}
}
