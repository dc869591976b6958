package term

import (
	"fmt"
	"runtime/debug"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// begin hears what waits before the first plan, and lets the farm hold apart whose events broke its state.
func (l *Loop) begin(now time.Time) {
	if l.readOnly != "" {
		return
	}
	if l.senders.Lately(now) {
		l.hearing = now.Add(hearFirst)
	}
	for _, held := range l.senders.Held(now) {
		l.at = held.Sender
		l.farm.Step(now, held)
	}
	l.drainOf(time.Now(), l.asked)
}

// step lets the farm take in an event, unless its sender is refused.
func (l *Loop) step(e message.Event) {
	now := l.clock.Now()
	from, ticket := message.From(e)
	if refusal := l.senders.Refusal(now, from); refusal != nil {
		l.waiters.deliver([]outbox.Reply{{Ticket: ticket, Err: refusal}})
		return
	}
	if unlocked, is := e.(message.HostLocked); is && !unlocked.Lock {
		l.lifted = append(l.lifted, l.senders.Lift(now, unlocked.Host)...)
	}
	l.at = from
	l.farm.Step(now, e)
}

// plan lets the farm plan, and reports plans that broke. What a plan breaks on when it is carried out is the job that
// it is about then.
func (l *Loop) plan(now time.Time) {
	everything := facts.Sender{Kind: planSender}
	if _, refused := l.senders.Refused(now, everything); refused || now.Before(l.hearing) {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			job, _ := l.farm.Doing()
			l.at = facts.Sender{Kind: planSender, Job: job}
			panic(fmt.Sprintf("%v\n%s", p, debug.Stack()))
		}
	}()
	l.farm.Plan(now)
	for _, b := range l.farm.PlanBreaks() {
		switch {
		case b.Stopped:
			l.log.Error("plans stopped", "why", b.Text, "stack", b.Stack)
		case b.Job != 0:
			l.log.Error("plans fail on a job, which is held", "job", int64(b.Job), "panic", b.Text, "stack", b.Stack)
		default:
			l.log.Error("a plan failed; looking for the job to blame", "panic", b.Text, "stack", b.Stack)
		}
	}
}

// take takes what is to be written and answered. What breaks on the answer to a host is that host's.
func (l *Loop) take(now time.Time) outbox.Batch {
	defer func() {
		if p := recover(); p != nil {
			if _, host := l.farm.Doing(); host != "" {
				l.at = facts.Sender{Kind: message.Report, Host: host}
			}
			panic(fmt.Sprintf("%v\n%s", p, debug.Stack()))
		}
	}()
	return l.farm.Take(now)
}

// survives runs a read of the farm, and reports whether it returned. If it panics the farm is checked; an inconsistent
// farm ends the term.
func (l *Loop) survives(what string, read func()) (well bool) {
	defer func() {
		p := recover()
		if well = p == nil; well {
			return
		}
		stack := string(debug.Stack())
		l.log.Error("a read of the farm failed", "what", what, "panic", fmt.Sprint(p), "stack", stack)
		if l.metrics != nil {
			l.metrics.Panics.WithLabelValues(what).Inc()
		}
		if err := l.farm.Check(); err != nil {
			panic(fmt.Sprintf("%v, and %v\n%s", p, err, stack))
		}
	}()
	read()
	return true
}
