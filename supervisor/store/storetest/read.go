package storetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// Jobs lists jobs, newest first.
func (m *Memory) Jobs(_ context.Context, q store.JobQuery) ([]facts.JobView, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var views []facts.JobView
	for _, j := range m.list(q) {
		row := rules.NormalJob(j.facts)
		v, known := rules.Known(q, row)
		if !known {
			v = rules.ViewOf(q, rules.CountJob(q, row), j.numbers(q.Quantile))
		}
		views = append(views, v)
	}
	return views, nil
}

// JobRefs lists jobs in short, newest first.
func (m *Memory) JobRefs(_ context.Context, q store.JobQuery) ([]store.JobRef, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var refs []store.JobRef
	for _, j := range m.list(q) {
		refs = append(refs, store.JobRef{ID: j.facts.ID, State: j.facts.State})
	}
	return refs, nil
}

// LastChange is the latest time at which a job changed.
func (m *Memory) LastChange(context.Context) (last time.Time, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range m.jobs {
		if j.changed.After(last) {
			last = j.changed
		}
	}
	return last, nil
}

// list are the jobs that a query asks for, newest first; m.mu is held.
func (m *Memory) list(q store.JobQuery) (jobs []*memoryJob) {
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(m.jobs))) {
		if len(jobs) == rules.PageOf(q.Limit) {
			break
		}
		if j := m.jobs[id]; j.asked(q) {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

func (j *memoryJob) asked(q store.JobQuery) bool {
	f := &j.facts
	return (q.IDs == nil || slices.Contains(q.IDs, f.ID)) && (q.User == "" || f.User == q.User) && (q.Name == "" || f.Name == q.Name) &&
		rules.Within(f.Cluster, q.Cluster) && f.Tags.With(q.Tags.Map()) == f.Tags && (q.States == nil || slices.Contains(q.States, f.State)) &&
		(q.Before == 0 || f.ID < q.Before) && (q.ChangedSince.IsZero() || !j.changed.Before(rules.Second(q.ChangedSince))) &&
		(q.FinishedSince.IsZero() || !f.State.Final() || !f.FinishedAt.Before(rules.Exact(q.FinishedSince)))
}

func (j *memoryJob) numbers(quantile float64) rules.Numbers {
	n := rules.Numbers{Memory: pastMemory(j.all(), quantile)}
	var wall float64
	done, alike := 0, true
	decided := map[facts.ItemNo]bool{}
	for _, a := range j.all() {
		if n.StartedAt.IsZero() || a.StartedAt.Before(n.StartedAt) {
			n.StartedAt = a.StartedAt
		}
		if a.Again != facts.Never {
			continue
		}
		decided[a.Item] = true
		switch {
		case a.State.Live():
			n.Running++
		case a.State == facts.Done:
			n.Complete++
			done++
			wall += a.Wall
		case a.State == facts.Killed:
			n.Killed++
		default:
			n.Failed++
			how := facts.FailureOf(a.Reason, a.ExitCode, a.Signal)
			if n.Failed > 1 && how != n.Failure {
				how, alike = facts.Failure{}, false
			}
			n.Failure = how
		}
	}
	if !alike {
		n.Failure = facts.Failure{}
	}
	if done > 0 {
		n.MeanWall = wall / float64(done)
	}
	if j.compacted != nil {
		n.Enter(j.compacted.numbers)
	}
	for _, mark := range j.marks {
		items := 0
		for item := mark.First; item <= mark.Last; item += facts.ItemNo(mark.Step) {
			if !decided[item] {
				items++
			}
		}
		n.Mark(mark.Kind, items)
	}
	return n
}

func pastMemory(attempts []facts.AttemptFacts, quantile float64) (m facts.PastMemory) {
	var peaks []int64
	for _, a := range attempts {
		m.Largest = max(m.Largest, a.Peak)
		switch {
		case (a.State == facts.Done || a.State == facts.Superseded) && a.Peak > 0:
			peaks = append(peaks, a.Peak)
		case a.Again == facts.Never && a.State == facts.Failed && a.Reason.OutOfMemory():
			m.RanOut++
			if a.Reason == facts.ReasonMemoryLimit && a.Memory > 0 {
				m.Out = max(m.Out, a.Memory)
			} else {
				m.Out = max(m.Out, a.Memory, a.Peak)
			}
		}
	}
	slices.Sort(peaks)
	if m.Returned = len(peaks); m.Returned > 0 {
		rank := int(math.Ceil(cmp.Or(quantile, 1) * float64(m.Returned)))
		m.Peak = peaks[min(max(rank, 1), m.Returned)-1]
	}
	return m
}

// Facts is the row of a job; nil if there is none.
func (m *Memory) Facts(_ context.Context, id facts.JobID) (*facts.JobFacts, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if j := m.jobs[id]; j != nil {
		return new(rules.NormalJob(j.facts)), nil
	}
	return nil, nil
}

// Record gives a job with everything that happened to it to r.
func (m *Memory) Record(_ context.Context, id facts.JobID, r facts.Recorder) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j := m.jobs[id]
	if j == nil {
		return false, nil
	}
	head := j.record()
	head.Attempts, head.Compacted = nil, j.compacted != nil
	if err := r.Begin(head); err != nil {
		return false, err
	}
	for _, a := range j.all() {
		if err := r.Add(a); err != nil {
			return false, err
		}
	}
	r.Finish()
	return true, nil
}

// Stored is what all jobs of an owner take.
func (m *Memory) Stored(_ context.Context, owner string) (bytes int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range m.jobs {
		if j.facts.User == rules.Clean(owner) {
			bytes += j.facts.Stored()
		}
	}
	return bytes, nil
}

// Submission finds the job that a submission token made, 0 if none.
func (m *Memory) Submission(_ context.Context, token string) (facts.JobID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bySubmission(rules.Clean(token)), nil
}

// JobStates tells the states of those that exist.
func (m *Memory) JobStates(_ context.Context, ids []facts.JobID) (map[facts.JobID]facts.JobState, error) {
	return ofJobs(m, ids, func(j facts.JobFacts) facts.JobState { return j.State }), nil
}

// attemptsOf are a job's attempts that keep selects, by (item, number).
func (m *Memory) attemptsOf(id facts.JobID, keep func(facts.AttemptFacts) bool) []facts.AttemptFacts {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []facts.AttemptFacts
	if j := m.jobs[id]; j != nil {
		for _, a := range j.all() {
			if keep(a) {
				list = append(list, a)
			}
		}
	}
	return list
}

// Latest returns the latest attempt of each touched item first..last, by item.
func (m *Memory) Latest(_ context.Context, job facts.JobID, first, last facts.ItemNo) ([]facts.AttemptFacts, error) {
	var list []facts.AttemptFacts
	for _, a := range m.attemptsOf(job, func(a facts.AttemptFacts) bool { return a.Item >= first && a.Item <= last }) {
		if n := len(list); n > 0 && list[n-1].Item == a.Item {
			list[n-1] = a
		} else {
			list = append(list, a)
		}
	}
	return list, nil
}

// Marks of a job, by first item.
func (m *Memory) Marks(_ context.Context, job facts.JobID) ([]facts.Mark, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j := m.jobs[job]
	if j == nil || len(j.marks) == 0 {
		return nil, nil
	}
	return slices.Clone(j.marks), nil
}

// Attempts of a job by (item, number), those after the given one.
func (m *Memory) Attempts(_ context.Context, job facts.JobID, after facts.AttemptID, limit int) ([]facts.AttemptFacts, error) {
	list := m.attemptsOf(job, func(a facts.AttemptFacts) bool {
		return a.Item > after.Item || a.Item == after.Item && a.Number > after.Number
	})
	return list[:min(len(list), rules.PageOf(limit))], nil
}

// History of a job, oldest first: events, and the starts and ends that the attempts tell.
func (m *Memory) History(_ context.Context, job facts.JobID, page store.HistoryPage) ([]store.HistoryLine, int, error) {
	var lines []store.HistoryLine
	add := func(rank, turn, number int, e facts.EventFacts) {
		lines = append(lines, store.HistoryLine{EventFacts: e, Place: store.HistoryPlace{At: e.At, Rank: rank, Turn: int64(turn), Number: number}})
	}
	for _, a := range m.attemptsOf(job, func(facts.AttemptFacts) bool { return true }) {
		e := facts.EventFacts{Job: job, Item: a.Item, Instance: a.Instance, Host: a.Host}
		e.At, e.Type = a.StartedAt, "item-started"
		add(2, int(a.Item), a.Number, e)
		if a.State.Live() {
			continue
		}
		e.At, e.Type, e.Why = a.EndedAt, "item-"+string(a.State), a.Why
		if a.State == facts.Superseded {
			e.Type = "item-done"
		}
		add(1, int(a.Item), a.Number, e)
	}
	m.mu.Lock()
	for i, e := range m.events {
		if e.Job != job || job == 0 {
			continue
		}
		rank := 0
		switch {
		case strings.HasPrefix(e.Type, "job-"):
			rank = 3
		case slices.Contains([]string{"left", "out-of-memory", "cpu-overuse", "item-held"}, e.Type):
			rank = 2
		}
		add(rank, i+1, 0, e)
	}
	if j := m.jobs[job]; j != nil {
		e := facts.EventFacts{Job: job, Item: -1, Instance: -1}
		if j.compacted != nil && j.compacted.whole {
			e.At, e.Type, e.Cause = j.compacted.at, "compacted", fmt.Sprintf("%d attempts became daily sums", j.compacted.attempts)
			add(4, 0, 0, e)
		}
		if !j.logsRemoved.IsZero() {
			add(4, 1, 0, facts.LogsRemoved(job, j.logsRemoved))
		}
	}
	m.mu.Unlock()
	slices.SortFunc(lines, func(a, b store.HistoryLine) int { return a.Place.Compare(b.Place) })
	limit := rules.PageOf(page.Limit)
	if page.After != (store.HistoryPlace{}) {
		lines = slices.DeleteFunc(lines, func(l store.HistoryLine) bool { return l.Place.Compare(page.After) <= 0 })
		return lines[:min(len(lines), limit)], 0, nil
	}
	if page.Before != (store.HistoryPlace{}) {
		lines = slices.DeleteFunc(lines, func(l store.HistoryLine) bool { return l.Place.Compare(page.Before) >= 0 })
	}
	earlier := max(0, len(lines)-limit)
	return lines[earlier:], earlier, nil
}
