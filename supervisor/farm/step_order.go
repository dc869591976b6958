package farm

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"qb/agenda"
)

func (f *Farm) onJobOrdered(now time.Time, e JobOrdered) {
	j := f.jobs[e.Job]
	if j == nil && e.Record != nil {
		if e.Job >= f.nextJob || !e.Record.Job.State.Final() {
			f.refuse(e.Ticket, "unavailable", "job %d was changed by another supervisor, which leads now; repeat the request", e.Job)
			return
		}
		if e.Record.Compacted {
			f.refuse(e.Ticket, "conflict", "job %d ended so long ago that its attempts have become daily sums (supervisor_history_days); submit it again", e.Job)
			return
		}
		if e.Record.Job.Version < f.recalled[e.Job] {
			f.refuse(e.Ticket, "unavailable", "job %d ran again while its record was read; repeat the request", e.Job)
			return
		}
		var err error
		if j, err = f.takeUp(now, *e.Record); err != nil {
			f.refuse(e.Ticket, "internal", "job %d cannot be taken up again: %v", e.Job, err)
			return
		}
		j.recalled = true
	}
	if j == nil {
		f.refuse(e.Ticket, "not-found", "there is no job %d", e.Job)
		return
	}
	if f.refusesReopening(j, e) {
		return
	}
	if e.Items != nil && (e.Action == Block || e.Action == Unblock) {
		f.refuse(e.Ticket, "invalid", "%s acts on whole jobs; give the id %d without items, or take single items off with kill", e.Action, e.Job)
		return
	}
	items := e.Items
	if items == nil {
		items = []agenda.Span{{First: 0, Last: j.agenda.Len() - 1, Step: 1}}
	}
	if outside := slices.IndexFunc(items, func(s agenda.Span) bool { return s.First < 0 || s.Last >= j.agenda.Len() }); outside >= 0 {
		f.refuse(e.Ticket, "unavailable", "job %d has no item %d here, though its rows had; another supervisor leads now, repeat the request", e.Job, items[outside].Last)
		return
	}
	marks, why := j.marksAfter(now, items, e)
	if why != "" {
		f.refuse(e.Ticket, "invalid", "%s", why)
		return
	}
	reply := ActionReply{Job: j.ID, Remarks: []string{}}
	switch e.Action {
	case Kill:
		reply.Affected = f.kill(now, j, items, marks, e.By)
	case Retry, Requeue, Redo:
		reply.Affected = f.reopen(now, j, items, marks, e)
	case Block:
		reply.Affected = f.block(now, j, e)
	case Unblock:
		reply.Affected = f.unblock(j, marks)
	case Interrupt, Preempt:
		reply.Affected = f.sendAway(now, j, items, e)
	default:
		f.refuse(e.Ticket, "invalid", "there is no order %q", e.Action)
		return
	}
	if reply.Affected > 0 {
		f.record(now, EventFacts{Type: "ordered-" + string(e.Action), Job: j.ID, Item: -1, Instance: -1, By: e.By,
			Cause: fmt.Sprintf("%d items", reply.Affected)})
		f.dirty, f.urgent = true, true
	}
	f.maybeFinish(now, j)
	f.say(e.Ticket, reply)
}

// marksAfter are the job's marks as the order would leave them, and why it may not have them.
func (j *job) marksAfter(now time.Time, items []agenda.Span, e JobOrdered) ([]Mark, string) {
	if len(items) > maxMarks {
		return nil, fmt.Sprintf("the items are %d ranges, more than %d; order the whole job, or fewer at a time", len(items), maxMarks)
	}
	if depth := agenda.Depth(items); depth > maxMarkDepth {
		return nil, fmt.Sprintf("%d ranges of the items overlap, more than %d; order ranges without a step", depth, maxMarkDepth)
	}
	marks := j.marks
	switch e.Action {
	case Kill:
		if j.State.Final() {
			break
		}
		var over []Mark
		for _, s := range items {
			if s, ok := j.trimmed(s); ok {
				over = append(over, Mark{Kind: MarkKilled, By: e.By, At: now}.On(s))
			}
		}
		marks = withMarks(marks, over)
	case Retry, Requeue, Redo:
		marks = marksWithout(marks, items)
	case Unblock:
		marks = slices.DeleteFunc(slices.Clone(marks), func(m Mark) bool { return m.Kind == MarkBlocked })
	}
	return marks, j.checkMarks(marks)
}

// trimmed is the part of a span from its first item that a mark can kill to the last such. Between them the mark may
// lie over items that are complete or failed, as those outweigh it until a person has them run again, and over
// running ones that are killed with it.
func (j *job) trimmed(s agenda.Span) (agenda.Span, bool) {
	waits := func(n int) bool {
		state := j.tally.State(n)
		return state == agenda.Pending || state == agenda.Blocked || state == agenda.Killed
	}
	for s.First <= s.Last && !waits(s.First) {
		s.First += s.Step
	}
	for s.First <= s.Last && !waits(s.Last) {
		s.Last -= s.Step
	}
	return s.From(s.First)
}

// each is the items of spans.
func each(spans []agenda.Span) iter.Seq[ItemNo] {
	return func(yield func(ItemNo) bool) {
		for _, s := range spans {
			for n := s.First; n <= s.Last; n += s.Step {
				if !yield(ItemNo(n)) {
					return
				}
			}
		}
	}
}

// running finds the instances that run the items, by number.
func running(j *job, items []agenda.Span) []*instance {
	on := make(map[ItemNo]*instance, len(j.instances))
	for _, i := range j.instances {
		on[i.attempt.Item] = i
	}
	var found []*instance
	for n := range each(items) {
		if j.tally.State(int(n)) == agenda.Running {
			found = append(found, on[n])
		}
	}
	slices.SortFunc(found, func(a, b *instance) int { return cmp.Compare(a.number, b.number) })
	return found
}

func (f *Farm) kill(now time.Time, j *job, items []agenda.Span, marks []Mark, by string) int {
	if j.State.Final() {
		return 0
	}
	n := 0
	for item := range each(items) {
		switch j.tally.State(int(item)) {
		case agenda.Pending, agenda.Blocked:
			j.tally.Set(int(item), agenda.Killed)
			n++
		}
	}
	if n > 0 {
		f.setMarks(j, marks)
	}
	for _, i := range running(j, items) {
		if !i.stopping() || !i.killed() {
			n++
		}
		f.stop(now, i, causeKilled+" by "+by)
	}
	return n
}

// reopen lets ended items run again: failed and killed ones, for Redo complete ones too.
func (f *Farm) reopen(now time.Time, j *job, items []agenda.Span, marks []Mark, e JobOrdered) int {
	var reopened []AttemptID
	n := 0
	for item := range each(items) {
		state := j.tally.State(int(item))
		if state != agenda.Failed && state != agenda.Killed && (state != agenda.Complete || e.Action != Redo) {
			continue
		}
		n++
		j.tally.Set(int(item), agenda.Pending)
		delete(j.failures, item)
		delete(j.preempted, item)
		j.mustered = nil
		if last := j.lastAttempt(item); last > 0 {
			reopened = append(reopened, AttemptID{Job: j.ID, Item: item, Number: last})
		}
	}
	if n == 0 {
		return 0
	}
	if len(reopened) > 0 {
		f.write(ReopenAttempts{Job: j.ID, Attempts: reopened})
	}
	f.setMarks(j, marks)
	wasFinal := j.State.Final()
	switch {
	case e.Action == Requeue:
		j.State, j.BlockedBy, j.FinishedAt = Blocked, e.By, time.Time{}
		f.waitOn(j)
	case wasFinal:
		j.State, j.FinishedAt = Active, time.Time{}
		f.waitAgain(j, e.Links)
	default:
		return n
	}
	f.putJob(j)
	return n
}

// waitAgain blocks a job that ended before its conditions came true, for those that have not come true
// since; what became of jobs that the farm no longer holds, states tells.
func (f *Farm) waitAgain(j *job, states map[JobID]JobState) {
	j.WaitFor = slices.DeleteFunc(slices.Clone(j.WaitFor), func(l Link) bool {
		state := states[l.Job]
		if parent := f.jobs[l.Job]; parent != nil {
			state = parent.State
		}
		return l.satisfied(state)
	})
	if len(j.WaitFor) > 0 {
		j.State, j.BlockedBy = Blocked, ""
		f.waitOn(j)
	}
}

func (f *Farm) block(now time.Time, j *job, e JobOrdered) int {
	if j.State.Final() || (j.State == Blocked && j.BlockedBy != "") {
		return 0
	}
	j.State, j.BlockedBy = Blocked, e.By
	f.putJob(j)
	for _, i := range j.sortedInstances() {
		f.stop(now, i, "blocked by "+e.By)
	}
	return max(1, j.tally.Count(agenda.Pending)+j.tally.Count(agenda.Running))
}

func (f *Farm) unblock(j *job, marks []Mark) int {
	if j.State.Final() {
		return 0
	}
	n := 0
	for item := range j.agenda.Len() {
		if j.tally.Count(agenda.Blocked) == 0 {
			break
		}
		if j.tally.State(item) == agenda.Blocked {
			j.tally.Set(item, agenda.Pending)
			n++
		}
	}
	f.setMarks(j, marks)
	if j.State != Blocked {
		return n
	}
	j.State, j.BlockedBy, j.WaitFor = Active, "", nil
	f.putJob(j)
	return max(1, j.tally.Count(agenda.Pending))
}

// sendAway takes instances off: at once (Interrupt) or at their item's end (Preempt).
func (f *Farm) sendAway(now time.Time, j *job, items []agenda.Span, e JobOrdered) int {
	n := 0
	for _, i := range running(j, items) {
		switch {
		case i.stopping(), i.leaving && e.Action == Preempt:
			continue
		case e.Action == Interrupt:
			f.stop(now, i, "interrupted by "+e.By)
		default:
			f.leave(now, i, e.By)
		}
		n++
	}
	return n
}

// leave sends an instance away at its item's end. Its attempt's row says so, so that the next term knows.
func (f *Farm) leave(now time.Time, i *instance, by string) {
	const cause = "sent away at its item's end"
	i.leaving, i.attempt.Cause = true, cause+" by "+by
	i.touch()
	f.write(LeaveAttempt{ID: i.attempt.AttemptID, Cause: i.attempt.Cause})
	f.tellLeaving(now, i, EventFacts{Type: "draining", By: by, Cause: cause})
}
