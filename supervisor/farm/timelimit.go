package farm

import (
	"fmt"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/message"
)

// timeLimit is after how many seconds the instance's item is ended by its worker: at the item's own limit,
// or when the instance reaches its, as ofInstance says; 0: never.
func (i *instance) timeLimit() (seconds float64, ofInstance bool) {
	limit := float64(i.job.AgendaTimeLimit)
	if i.job.TimeLimit > 0 {
		left := max(1, float64(i.job.TimeLimit)-i.attempt.StartedAt.Sub(i.began).Seconds())
		if limit == 0 || left < limit {
			return left, true
		}
	}
	return limit, false
}

// timedOut says which limit ended an item.
func (i *instance) timedOut(r message.ReportedEnd) facts.Why {
	p := facts.Params{Seconds: r.Wall}
	switch limit, ofInstance := i.timeLimit(); {
	case limit == 0: // changed in the meantime
	case ofInstance:
		p.Option, p.Limit, p.Earlier = "timelimit", int64(i.job.TimeLimit), !i.attempt.StartedAt.Equal(i.began)
	default:
		p.Option, p.Limit = "agendatimelimit", int64(i.job.AgendaTimeLimit)
	}
	return facts.Because(facts.ReasonTimeLimit, p, r.Reason)
}

// expired says that the instance has lived as long as it may.
func (i *instance) expired(now time.Time) bool {
	return i.job.TimeLimit > 0 && now.Sub(i.began) >= time.Duration(i.job.TimeLimit)*time.Second
}

// slowEvery is how often running items are held against their jobs' estimates.
const slowEvery = time.Second

// watchSlow tells of each item, once, that runs several times as long as the longest of its job did. It
// is told, not killed.
func (f *Farm) watchSlow(now time.Time) {
	if f.policy.TimeFactor <= 0 || now.Before(f.nextSlowLook) {
		return
	}
	for _, h := range f.hosts.sorted() {
		if f.out.Spent() {
			return // the next tick finds the others
		}
		for _, i := range h.sortedInstances() {
			if i.slowRecorded == i.attempt.AttemptID || !i.job.timed() || i.stopping() {
				continue
			}
			usual := i.job.Times.Seconds(0, f.policy.CPUShare.Quantile)
			if i.job.Times.Count() == 0 {
				usual = float64(i.job.TimeEstimate)
			}
			if age := now.Sub(i.attempt.StartedAt).Seconds(); age > f.policy.TimeFactor*usual && age > slowLeast {
				f.recordSlow(now, i, age, usual)
			}
		}
	}
	f.nextSlowLook = now.Add(slowEvery)
}

// slowLeast is the least age, in seconds, of an item that is worth a word.
const slowLeast = 10

func (f *Farm) recordSlow(now time.Time, i *instance, age, usual float64) {
	i.slowRecorded = i.attempt.AttemptID
	than := fmt.Sprintf("the items of this job that ended took %.3g s at most", usual)
	if i.job.Times.Count() == 0 {
		than = fmt.Sprintf("its job states %.3g s (-timereq)", usual)
	}
	f.counts.Slow++
	f.out.Record(now, facts.EventFacts{Type: "slow", Job: i.job.ID, Item: i.attempt.Item, Instance: i.number, Host: i.host.ID,
		Why: facts.Why{Cause: fmt.Sprintf("it runs for %.0f s, %s", age, than)}})
}

// Counts of this term.
func (f *Farm) Counts() message.Counts { return f.counts }

// noteOveruse tells the first time that a job's items use more processors than they hold.
func (f *Farm) noteOveruse(now time.Time, i *instance, end facts.EndAttempt) {
	a := i.attempt
	a.Wall, a.CPU = end.Wall, end.CPU
	text := a.Overuse()
	if text == "" {
		return
	}
	f.counts.Overused++
	if i.job.overused {
		return
	}
	i.job.overused = true
	f.out.Record(now, facts.EventFacts{Type: "cpu-overuse", Job: i.job.ID, Item: a.Item, Instance: i.number, Host: i.host.ID,
		Why: facts.Why{Cause: text + "; reserve host.processors for what the job really uses"}})
}
