package storetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// memoryHistory are the rows of usage_day and removed.
type memoryHistory struct {
	days     map[dayKey]daySums
	removed  int64
	attempts int64 // of removed jobs
	lastJob  facts.JobID
}

type dayKey struct {
	day                           time.Time
	owner, account, cluster, host string
	kind                          string
	charged                       bool
	tags                          facts.Tags
}

type daySums struct {
	attempts                 int64
	wall, slots, cpu, memory float64 // seconds, and seconds times what was held
	used                     facts.Charge
	left                     facts.Charge // of it at the day's end
}

func (d daySums) plus(o daySums) daySums {
	return daySums{d.attempts + o.attempts, d.wall + o.wall, d.slots + o.slots, d.cpu + o.cpu, d.memory + o.memory,
		sumOf(d.used, o.used, 1), sumOf(d.left, o.left, 1)}
}

func sumOf(a, b facts.Charge, factor float64) facts.Charge {
	return facts.Charge{CPU: a.CPU + factor*b.CPU, RAM: a.RAM + factor*b.RAM, GPU: a.GPU + factor*b.GPU, Scratch: a.Scratch + factor*b.Scratch}
}

// memoryCompacted are the columns of a job that tell of attempts which are sums now; nil: there are none.
type memoryCompacted struct {
	numbers  rules.CompactedNumbers
	attempts int64
	whole    bool // none is left
	at       time.Time
}

// asDay is an ended attempt as a row of usage_day; left as yet is what was used.
func asDay(j facts.JobFacts, a facts.AttemptFacts) (dayKey, daySums) {
	kind := "failed"
	switch a.State {
	case facts.Done, facts.Superseded:
		kind = a.Kind.String()
	case facts.Preempted:
		kind = "preempted"
	}
	wall := a.Wall
	if wall == 0 && (a.State == facts.Lost || a.State == facts.Killed || a.State == facts.Preempted) {
		wall = a.EndedAt.Sub(a.StartedAt).Seconds()
	}
	key := dayKey{a.EndedAt.Truncate(24 * time.Hour), a.Owner, j.Account, j.Cluster, string(a.Host), kind, a.Charged, j.Tags}
	return key, daySums{1, wall, float64(a.Slots) * wall, a.CPU, float64(max(a.Memory, a.Peak)) * wall, a.Charge, a.Charge}
}

// Owners tells whose jobs these are.
func (m *Memory) Owners(_ context.Context, jobs []facts.JobID) (map[facts.JobID]string, error) {
	return ofJobs(m, jobs, func(j facts.JobFacts) string { return j.User }), nil
}

// ofJobs is what of says of those jobs that are there.
func ofJobs[T any](m *Memory, ids []facts.JobID, of func(facts.JobFacts) T) map[facts.JobID]T {
	m.mu.Lock()
	defer m.mu.Unlock()
	values := map[facts.JobID]T{}
	for _, id := range ids {
		if j := m.jobs[id]; j != nil {
			values[id] = of(j.facts)
		}
	}
	return values
}

// endedBefore lists final jobs that ended before a moment, those first that ended first.
func (m *Memory) endedBefore(before time.Time, limit int, fits func(*memoryJob) bool) (ids []facts.JobID, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []*memoryJob
	for _, j := range m.jobs {
		if j.facts.State.Final() && j.facts.FinishedAt.Before(rules.Exact(before)) && fits(j) {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b *memoryJob) int {
		return cmp.Or(a.facts.FinishedAt.Compare(b.facts.FinishedAt), cmp.Compare(a.facts.ID, b.facts.ID))
	})
	for _, j := range list[:min(len(list), limit)] {
		ids = append(ids, j.facts.ID)
	}
	return ids, nil
}

// Clock tells the time of this machine.
func (m *Memory) Clock(context.Context) (time.Time, error) { return time.Now(), nil }

// Closed lists jobs to compact.
func (m *Memory) Closed(_ context.Context, before time.Time, limit int, without ...facts.JobID) ([]facts.JobID, error) {
	return m.endedBefore(before, limit, func(j *memoryJob) bool {
		if slices.Contains(without, j.facts.ID) {
			return false
		}
		for _, w := range m.jobs {
			if !w.facts.State.Final() && slices.ContainsFunc(w.facts.WaitFor, func(l facts.Link) bool { return l.Job == j.facts.ID }) {
				return false
			}
		}
		return (j.compacted == nil || !j.compacted.whole) && !slices.ContainsFunc(j.all(), func(a facts.AttemptFacts) bool { return a.State.Live() })
	})
}

// Expired lists jobs to remove.
func (m *Memory) Expired(_ context.Context, before time.Time, limit int) ([]facts.JobID, error) {
	return m.endedBefore(before, limit, func(j *memoryJob) bool { return j.compacted != nil && j.compacted.whole })
}

func (m *Memory) held(epoch int64) error {
	if m.epoch != epoch {
		return fmt.Errorf("%w: epoch %d is no longer the supervisor's", store.ErrTermOver, epoch)
	}
	return nil
}

// Compact makes one chunk of attempts into sums.
func (m *Memory) Compact(_ context.Context, c store.Compaction) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.held(c.Epoch); err != nil {
		return 0, err
	}
	jobs := slices.Clone(c.Jobs)
	slices.Sort(jobs)
	jobs = slices.Compact(jobs)
	for _, id := range jobs {
		if j := m.jobs[id]; j != nil && slices.ContainsFunc(j.all(), func(a facts.AttemptFacts) bool { return a.State.Live() }) {
			return 0, fmt.Errorf("%w: an attempt of job %d, which is closed, is live; see qb audit", store.ErrRows, id)
		}
	}
	var taken int64
	for _, id := range jobs {
		j := m.jobs[id]
		if j == nil || !j.facts.State.Final() || !j.facts.FinishedAt.Before(rules.Exact(c.Before)) || j.compacted != nil && j.compacted.whole {
			continue
		}
		if j.compacted == nil {
			j.compacted = &memoryCompacted{}
		}
		taken += m.compact(j, c, taken)
		if len(j.attempts) > 0 {
			break
		}
		j.compacted.whole, j.compacted.at = true, rules.Exact(c.At)
		j.facts.Version++
	}
	return taken, nil
}

// compact takes items of a job until the chunk is full.
func (m *Memory) compact(j *memoryJob, c store.Compaction, before int64) (taken int64) {
	var outcomes []rules.Outcome
	last := facts.ItemNo(-1)
	for _, a := range j.all() {
		if before+taken >= int64(max(1, c.Limit)) && a.Item != last {
			break
		}
		last = a.Item
		key, sums := asDay(j.facts, a)
		sums.left = sumOf(facts.Charge{}, a.Charge, left(dayEnd(key.day).Sub(a.EndedAt), c.HalfLife))
		m.history.days[key] = m.history.days[key].plus(sums)
		if a.Again == facts.Never {
			outcomes = append(outcomes, rules.OutcomeOf(a.Job, a.Item, a.State, a.EndedAt))
		}
		n := &j.compacted.numbers
		if at := a.StartedAt; n.FirstStart == nil || at.Before(*n.FirstStart) {
			n.FirstStart = &at
		}
		if a.State == facts.Done {
			n.DoneWall, n.DoneCount = n.DoneWall+a.Wall, n.DoneCount+1
		}
		n.Memory = n.Memory.And(pastMemory([]facts.AttemptFacts{a}, 0))
		taken++
		delete(j.attempts, a.Item)
	}
	if taken > 0 {
		near, far := besides(j.marks, outcomes)
		j.marks = append(far, rules.Overlaid(near, outcomes)...)
		slices.SortFunc(j.marks, func(a, b facts.Mark) int { return cmp.Compare(a.First, b.First) })
		j.compacted.attempts += taken
		j.facts.Version++
	}
	return taken
}

// WaitFor lists some unfinished jobs that wait for a job.
func (m *Memory) WaitFor(_ context.Context, job facts.JobID) (ids []facts.JobID, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(m.jobs)) {
		w := &m.jobs[id].facts
		if !w.State.Final() && len(ids) < 5 && slices.ContainsFunc(w.WaitFor, func(l facts.Link) bool { return l.Job == job }) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Remove takes expired jobs away.
func (m *Memory) Remove(_ context.Context, epoch int64, before time.Time, jobs []facts.JobID, audit ...facts.AuditFacts) (removed int64, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.held(epoch); err != nil {
		return 0, err
	}
	for _, id := range jobs {
		j := m.jobs[id]
		if j == nil || !j.facts.State.Final() || !j.facts.FinishedAt.Before(rules.Exact(before)) || j.compacted == nil || !j.compacted.whole {
			continue
		}
		delete(m.jobs, id)
		m.events = slices.DeleteFunc(m.events, func(e facts.EventFacts) bool { return e.Job == id })
		m.history.removed++
		m.history.attempts += j.compacted.attempts
		m.history.lastJob = max(m.history.lastJob, id)
		removed++
	}
	if removed > 0 {
		for _, a := range audit {
			if err := m.putAudit(a, new(undoLog)); err != nil {
				return 0, err
			}
		}
	}
	return removed, nil
}

// Ended tells when jobs ended.
func (m *Memory) Ended(_ context.Context, jobs []facts.JobID) (map[facts.JobID]time.Time, error) {
	return ofJobs(m, jobs, func(j facts.JobFacts) time.Time { return j.FinishedAt }), nil
}

// Gone are those of the jobs that were removed.
func (m *Memory) Gone(_ context.Context, jobs []facts.JobID) (gone []facts.JobID, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range slices.Sorted(slices.Values(jobs)) {
		if m.jobs[id] == nil && id <= m.history.lastJob {
			gone = append(gone, id)
		}
	}
	return gone, nil
}

// WithLogs lists jobs whose logs can be removed.
func (m *Memory) WithLogs(_ context.Context, before time.Time, limit int, owner ...string) ([]store.WithLogs, error) {
	ids, err := m.endedBefore(before, limit, func(j *memoryJob) bool {
		return j.logsRemoved.Before(j.facts.FinishedAt) && (len(owner) == 0 || slices.Contains(owner, j.facts.User))
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []store.WithLogs
	for _, id := range ids {
		list = append(list, store.WithLogs{Job: id, Compacted: m.jobs[id].compacted != nil})
	}
	return list, err
}

// LogsRemoved notes that the logs of jobs are gone.
func (m *Memory) LogsRemoved(_ context.Context, epoch int64, jobs []facts.JobID, at time.Time, why string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.held(epoch); err != nil {
		return err
	}
	for _, id := range jobs {
		if j := m.jobs[id]; j != nil {
			j.logsRemoved = rules.Exact(at)
		}
	}
	if why != "" {
		m.events = append(m.events, rules.NormalEvent(facts.LogsRemovedEarly(at, why)))
	}
	return nil
}

// Past tells what no longer can be read of a job.
func (m *Memory) Past(_ context.Context, job facts.JobID) (past store.Past, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if j := m.jobs[job]; j != nil {
		past = store.Past{Compacted: j.compacted != nil, LogsRemoved: j.logsRemoved}
	}
	return past, nil
}
