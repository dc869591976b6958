package serve

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/smartshare"
	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/term"
	"qb/supervisor/share/planner"
	"qb/supervisor/why/explain"
	"qb/supervisor/wire/settings"
)

// poisonedFarm panics on the reports of one host that bring something, and on one question.
type poisonedFarm struct {
	term.Machine
	host facts.HostID
	job  facts.JobID
}

func (f poisonedFarm) Step(now time.Time, e message.Event) {
	if s, ok := e.(message.WorkerSynced); ok && s.Host.ID == f.host {
		panic("a report breaks the step")
	}
	f.Machine.Step(now, e)
}

func (f poisonedFarm) Explain(now time.Time, id facts.JobID) (explain.Explanation, bool) {
	if id == f.job {
		panic("a question breaks")
	}
	return f.Machine.Explain(now, id)
}

// tryBeat reports once, and returns the code of a refusal.
func (a *agent) tryBeat() (code string) {
	a.sync.Sequence++
	var reply api.SyncReply
	var refusal *api.Error
	err := a.client.Call(a.t.Context(), api.SyncWorker, nil, a.sync, &reply)
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return ""
}

func poisoned(host facts.HostID, job facts.JobID) func(*settings.Config, *Options) {
	return func(_ *settings.Config, o *Options) {
		o.rebuild = func(p message.Policy, f facts.Facts, now time.Time) (term.Machine, error) {
			m, err := farm.Rebuild(p, f, now)
			return poisonedFarm{m, host, job}, err
		}
	}
}

// TestAHostWhoseReportsBreakTheStepIsHeldApart: after three terms its reports are refused before the step, it is locked
// and named, and all others go on in one term.
func TestAHostWhoseReportsBreakTheStepIsHeldApart(t *testing.T) {
	r := startRig(t, poisoned("h-bad", 0))
	u1, good, bad := r.client("u1", api.User), r.agent("h1", 1), r.agent("h-bad", 1)
	good.beat(0)
	for range 3 {
		was := r.store.terms.Load()
		eventually(t, "a term takes in the report and ends", func() bool {
			bad.tryBeat()
			return r.store.terms.Load() > was
		})
		eventually(t, "the next term", func() bool { return healthy(r) })
	}
	eventually(t, "the report is refused with a code", func() bool { return bad.tryBeat() == "sender-refused" })
	terms := r.store.terms.Load()
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-2"})
	eventually(t, "an item of others runs", func() bool {
		good.beat(0)
		return must[api.Job](t, u1, api.GetJob, params("job", 1), nil).Items.Running > 0
	})
	for range 5 {
		if code := bad.tryBeat(); code != "sender-refused" {
			t.Errorf("the report is answered with %q", code)
		}
	}
	if r.store.terms.Load() != terms {
		t.Error("a term ended though the reports are refused")
	}
	if text := r.metrics(); !strings.Contains(text, `qb_panics_total{where="step"} 3`) {
		t.Errorf("the metrics lack the panics")
	}
}

// TestAQuestionThatBreaksEndsNoTerm: a read that panics is answered with an error of the supervisor, and the term goes
// on.
func TestAQuestionThatBreaksEndsNoTerm(t *testing.T) {
	r := startRig(t, poisoned("", 1))
	u1 := r.client("u1", api.User)
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}})
	terms := r.store.terms.Load()
	refused(t, api.KindInternal, u1, api.Explain, params("job", 1), nil)
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}})
	if r.store.terms.Load() != terms {
		t.Error("the term ended")
	}
	if log := r.log.String(); !strings.Contains(log, "a read of the farm failed") ||
		!strings.Contains(log, "broken_test.go") {
		t.Errorf("the log lacks the panic or its stack: %s", log)
	}
}

// TestAPlanThatBreaksHoldsItsJob: over the API, in one term: the job is blocked with its reason, others start, and it
// can be killed.
func TestAPlanThatBreaksHoldsItsJob(t *testing.T) {
	r := startRig(t, func(_ *settings.Config, o *Options) {
		o.rebuild = func(p message.Policy, f facts.Facts, now time.Time) (term.Machine, error) {
			p.Divide = func(scratch *smartshare.Scratch, s planner.Snapshot) planner.Plan {
				if slices.ContainsFunc(s.Jobs, func(j planner.SnapJob) bool { return j.ID == "2" }) {
					panic("the planner breaks on job 2")
				}
				return planner.Decide(scratch, s)
			}
			return farm.Rebuild(p, f, now)
		}
	})
	u1, worker := r.client("u1", api.User), r.agent("h1", 3)
	worker.beat(0)
	for range 3 {
		must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-3"})
	}
	terms := r.store.terms.Load()
	eventually(t, "the job is held", func() bool {
		worker.beat(0)
		j := must[api.Job](t, u1, api.GetJob, params("job", 2), nil)
		return j.Status == "blocked" && strings.Contains(j.Reason, "the planner breaks on job 2")
	})
	eventually(t, "the others run", func() bool {
		worker.beat(0)
		return must[api.Job](t, u1, api.GetJob, params("job", 1), nil).Items.Running > 0 &&
			must[api.Job](t, u1, api.GetJob, params("job", 3), nil).Items.Running > 0
	})
	must[api.ActionReply](t, u1, api.OrderJob, params("job", 2, "action", "kill"), nil)
	if r.store.terms.Load() != terms {
		t.Error("the term ended")
	}
	if text := r.metrics(); !strings.Contains(text, "qb_plan_panics_total") {
		t.Errorf("the metrics lack the panics of plans")
	}
}
