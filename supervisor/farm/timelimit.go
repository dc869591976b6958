package farm

import (
	"fmt"
	"slices"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
)

// slowEvery is how often running items are held against their jobs' estimates.
const slowEvery = time.Second

// watch looks for items that run too long, or use more than they hold.
type watch struct {
	*shared
	again time.Time // when it begins again with the first host
	round round
}

// look reports each item, once, that runs several times as long as the longest of its job did, and items and
// instances that run longer than the timeouts of their jobs. Nothing is ended for it.
func (wa *watch) look(now time.Time) {
	if now.Before(wa.again) || wa.out.Spent() {
		return
	}
	some, last := wa.round.next(wa.hosts.Sorted(), ticksAll)
	for n, h := range some {
		if wa.out.Spent() {
			wa.round.back(len(some) - n) // the next tick finds the others
			return
		}
		for _, i := range wa.long(now, h) {
			wa.recordTimeouts(now, i)
			wa.maybeRecordSlow(now, i)
		}
	}
	if last {
		wa.again = now.Add(slowEvery)
	}
}

// long are the host's instances of which something may have to be recorded, in order. Mostly there are none, and to
// sort all of them every second would take a large farm's time.
func (wa *watch) long(now time.Time, h *model.Host) (list []*model.Instance) {
	for _, i := range h.Instances {
		timed := i.Job.Timeout > 0 && !i.TimedOutRecorded ||
			i.Job.AgendaTimeout > 0 && !i.Recorded.Timeout
		if timed || now.Sub(i.Attempt.StartedAt).Seconds() > slowLeast && wa.mayBeSlow(i) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, model.CompareInstances)
	return list
}

// mayBeSlow says whether an instance's item may yet be recorded as slow.
func (wa *watch) mayBeSlow(i *model.Instance) bool {
	return wa.policy.TimeFactor > 0 && !i.Recorded.Slow && i.Job.Timed() && !i.Stopping()
}

func (wa *watch) maybeRecordSlow(now time.Time, i *model.Instance) {
	if !wa.mayBeSlow(i) {
		return
	}
	usual := i.Job.Times.Seconds(0, wa.policy.CPUShare.Quantile)
	if i.Job.Times.Count() == 0 {
		usual = i.Job.FirstSeconds()
	}
	if age := i.Attempt.RanUntil(now).Seconds(); age > wa.policy.TimeFactor*usual && age > slowLeast {
		wa.recordSlow(now, i, age, usual)
	}
}

// recordTimeouts reports an instance, and an item, that has run for the timeout of its job, once.
func (wa *watch) recordTimeouts(now time.Time, i *model.Instance) {
	past := func(since time.Time, limit int, reason facts.Reason) bool {
		age := now.Sub(since).Seconds()
		if limit == 0 || age < float64(limit) {
			return false
		}
		wa.recordOf(now, i, facts.EventFacts{Type: "timeout",
			Why: facts.Because(reason, facts.Params{Seconds: age, Limit: int64(limit)}, "")})
		return true
	}
	if !i.TimedOutRecorded {
		i.TimedOutRecorded = past(i.Began, i.Job.Timeout, facts.ReasonInstanceTimeout)
	}
	if !i.Recorded.Timeout && past(i.Attempt.StartedAt, i.Job.AgendaTimeout,
		facts.ReasonItemTimeout) {
		i.Recorded.Timeout = true
	}
}

// slowLeast is the least age, in seconds, of an item that is worth a word.
const slowLeast = 10

func (wa *watch) recordSlow(now time.Time, i *model.Instance, age, usual float64) {
	i.Recorded.Slow = true
	than := fmt.Sprintf("the items of this job that ended took %.3g s at most", usual)
	if i.Job.Times.Count() == 0 {
		than = fmt.Sprintf("its job states %.3g s (-timereq)", usual)
		if i.Job.TimeEstimate == 0 {
			than = fmt.Sprintf("the profile of its job knows %.3g s", usual)
		}
	}
	wa.counts.Slow++
	e := facts.EventFacts{Type: "slow", Job: i.Job.ID, Item: i.Attempt.Item, Instance: i.Number, Host: i.Host.ID,
		Why: facts.Why{Cause: fmt.Sprintf("the item runs for %.0f s, %s", age, than)}}
	slow := &i.Job.Noticed.Slow
	if !slow.At.IsZero() && now.Sub(slow.At) < slowQuiet {
		slow.Last = e
		slow.More++
		return
	}
	wa.out.Record(now, withOthers(now, e, *slow))
	*slow = model.SlowItems{At: now}
}

// slowQuiet is for how long after the event of a slow item the others of its job are counted: a job whose items differ
// much would fill the history of its farm.
const slowQuiet = time.Hour

// withOthers is the event of a slow item with the number of the others of its job that were counted.
func withOthers(now time.Time, e facts.EventFacts, slow model.SlowItems) facts.EventFacts {
	if slow.More > 0 {
		e.Params.Items = slow.More
		e.Cause += fmt.Sprintf("; others of its job since %s: %d", facts.Clock(now, slow.At), slow.More)
	}
	return e
}

// recordCountedSlow records at the end of a job the last of its slow items that were only counted, with the others.
func (sh *shared) recordCountedSlow(now time.Time, j *model.Job) {
	slow := j.Noticed.Slow
	j.Noticed.Slow = model.SlowItems{}
	if slow.More > 0 {
		slow.More--
		sh.out.Record(now, withOthers(now, slow.Last, slow))
	}
}

// Counts of this term.
func (f *Farm) Counts() message.Counts { return f.counts }

// noteOveruse tells the first time that a job's items use more processors than they hold.
func (wa *watch) noteOveruse(now time.Time, i *model.Instance, end facts.EndAttempt) {
	a := facts.AttemptFacts{RunFacts: i.Attempt, Wall: end.Wall, CPU: end.CPU}
	text := a.Overuse()
	if text == "" {
		return
	}
	wa.counts.Overused++
	if i.Job.Noticed.Overuse {
		return
	}
	i.Job.Noticed.Overuse = true
	wa.out.Record(now, facts.EventFacts{Type: "cpu-overuse", Job: i.Job.ID, Item: a.Item, Instance: i.Number,
		Host: i.Host.ID,
		Why:  facts.Why{Cause: text + "; reserve host.processors for what the job really uses"}})
}
