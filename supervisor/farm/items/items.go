package items

import (
	"slices"
	"time"

	"qb/agenda"
	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// Items are the items of a job.
type Items struct {
	Entries  *agenda.Agenda
	Tally    *agenda.Tally
	Marks    []facts.Mark         // by first item
	Memory   Memory               // what is known of their need
	Times    smartshare.Samples   // wall seconds of complete items
	Failures map[facts.ItemNo]int // failed attempts that count against the retries
	// attempts that ended by themselves, charged no retry, since the last that ran for long
	unlucky   map[facts.ItemNo]int
	Preempted map[facts.ItemNo]int // times an item was preempted
	// how each item failed last: a place in ways, from 1; 0: not known. nil until the first
	failed     []uint8
	ways       []facts.Failure // at most maxWays
	Trouble    Trouble
	FirstStart time.Time // of the first attempt
	DoneCount  int       // attempts that completed an item
	FailCount  int       // attempts that failed
	delays
	Strikes  Strikes // against hosts
	doneWall float64 // seconds of those
	attempts latest
	lapsed   map[facts.ItemNo]Lapsed

	Waits []uint32 // what each item waits for of other jobs, counted; nil: nothing
	Watch Watcher  // may be nil
	Owner Owner    // the job; may be nil
}

// BytesEach is about what is known of an item takes in memory: its state, its latest attempt and how it failed.
const BytesEach = 4

// New returns items of which none has run.
func New(a *agenda.Agenda) *Items {
	return &Items{Entries: a, Tally: agenda.NewTally(a.Len()), Failures: map[facts.ItemNo]int{},
		Preempted: map[facts.ItemNo]int{}, unlucky: map[facts.ItemNo]int{}}
}

// Trouble is what bad ends have taught of hosts.
type Trouble struct {
	// hosts that were lost under an item; one more than once if the item ended strangely there
	LostOn   map[facts.ItemNo][]facts.HostID
	FailedOn map[facts.HostID]int       // failed attempts
	DoneOn   map[facts.HostID]time.Time // latest end of what was done under this term
	Left     map[facts.HostID]time.Time // latest end of what was migrated from there before this term
}

// LastAttempt is the number of the item's latest attempt, 0 before the first.
func (s *Items) LastAttempt(n facts.ItemNo) int { return s.attempts.of(n) }

// setLastAttempt raises the number of the item's last attempt.
func (s *Items) setLastAttempt(n facts.ItemNo, number int) {
	s.attempts.raise(n, number, s.Entries.Len())
}

// Start notes that an attempt at the item begins.
func (s *Items) Start(now time.Time, item facts.ItemNo, number int) {
	s.set(int(item), agenda.Running)
	s.setLastAttempt(item, number)
	if s.FirstStart.IsZero() {
		s.FirstStart = now
	}
}

// End puts an item where the end of its attempt leaves it. Under is its state instead of being tried again; with paused
// it waits before that.
func (s *Items) End(end facts.EndAttempt, under agenda.State, paused bool) {
	item := end.ID.Item
	delete(s.lapsed, item)
	s.countEnd(item, end.State, end.Reason, end.Wall)
	switch {
	case end.State == facts.Done:
		s.set(int(item), agenda.Complete)
		delete(s.Failures, item)
	case end.Again != facts.Never:
		s.Put(item, under)
		if paused && under == agenda.Pending {
			s.pause(item, end.ID.Number, end.EndedAt, end.Params)
		}
	case end.State == facts.Killed:
		s.set(int(item), agenda.Killed)
	default:
		s.fail(item, facts.FailureOf(end.Reason, end.ExitCode, end.Signal))
	}
}

// Put puts an item into a state that no attempt decides.
func (s *Items) Put(item facts.ItemNo, to agenda.State) {
	s.set(int(item), to)
	if s.failed != nil {
		s.failed[item] = 0
	}
}

// maxWays is how many ways in which items of a job failed are distinguished, so that a byte an item is enough.
const maxWays = 255

func (s *Items) fail(item facts.ItemNo, how facts.Failure) {
	s.set(int(item), agenda.Failed)
	if s.failed == nil {
		s.failed = make([]uint8, s.Entries.Len())
	}
	way := slices.Index(s.ways, how)
	if way < 0 && len(s.ways) < maxWays {
		way, s.ways = len(s.ways), append(s.ways, how)
	}
	s.failed[item] = uint8(way + 1)
}

// Failure is how all items failed that have, if they did so alike; else zero.
func (s *Items) Failure() facts.Failure {
	alike := uint8(0)
	for item, way := range s.failed {
		switch {
		case s.Tally.State(item) != agenda.Failed:
			continue
		case way == 0 || alike > 0 && way != alike:
			return facts.Failure{}
		}
		alike = way
	}
	if alike == 0 {
		return facts.Failure{}
	}
	return s.ways[alike-1]
}

// countEnd counts an end in the means and against the retries.
func (s *Items) countEnd(item facts.ItemNo, state facts.AttemptState, why facts.Reason, wall float64) {
	if facts.Unhurried(wall) {
		delete(s.unlucky, item)
	}
	if facts.Unlucky(state, why) {
		s.unlucky[item]++
	}
	switch state {
	case facts.Done:
		delete(s.unlucky, item)
		s.doneWall += wall
		s.DoneCount++
	case facts.Failed:
		s.FailCount++
		if !why.Uncharged() {
			s.Failures[item]++
		}
	case facts.Preempted:
		if why == facts.ReasonHandedBack {
			return // it had not begun
		}
		s.Preempted[item]++
	}
}

// Reopen lets an ended item be pending, or complete by order, as if it had not failed before.
func (s *Items) Reopen(item facts.ItemNo, to agenda.State) {
	s.Put(item, to)
	delete(s.lapsed, item)
	delete(s.Failures, item)
	delete(s.Preempted, item)
	delete(s.unlucky, item)
}

// WaitAfter is how long an item waits after an attempt that ends so: longer each time that it is unlucky.
func (s *Items) WaitAfter(end *facts.EndAttempt) time.Duration {
	switch {
	case !facts.Unlucky(end.State, end.Reason):
		return 0
	case facts.Unhurried(end.Wall):
		return facts.WaitAfter(1, end.Reason)
	}
	return facts.WaitAfter(s.unlucky[end.ID.Item]+1, end.Reason)
}

// Note keeps what an end tells of a host.
func (s *Items) Note(host facts.HostID, end facts.EndAttempt, at time.Time) {
	if s.Trouble.FailedOn == nil {
		s.Trouble = Trouble{map[facts.ItemNo][]facts.HostID{}, map[facts.HostID]int{}, map[facts.HostID]time.Time{},
			s.Trouble.Left}
	}
	t := &s.Trouble
	switch end.State {
	case facts.Done:
		t.DoneOn[host] = at
		delete(t.LostOn, end.ID.Item)
	case facts.Failed:
		t.FailedOn[host]++
	case facts.Lost:
		if hosts := t.LostOn[end.ID.Item]; end.Reason.Strange() || !slices.Contains(hosts, host) {
			t.LostOn[end.ID.Item] = append(hosts, host)
		}
	}
}

// Pending is how many items are ready and wait.
func (s *Items) Pending() int { return s.Tally.Count(agenda.Pending) }

// Waiting is how many items wait for items of other jobs.
func (s *Items) Waiting() int { return s.Tally.Count(agenda.Waiting) }

// Over says that no item waits or runs.
func (s *Items) Over() bool {
	live := s.Tally.Count(agenda.Pending) + s.Tally.Count(agenda.Running) + s.Tally.Count(agenda.Blocked)
	return live+s.Paused()+s.Waiting() == 0
}

// EndState is what a job becomes whose items are over.
func (s *Items) EndState() facts.JobState {
	switch {
	case s.Tally.Count(agenda.Killed) > 0:
		return facts.KilledJob
	case s.Tally.Count(agenda.Failed) > 0:
		return facts.FailedJob
	}
	return facts.Complete
}

// MeanSeconds is how long complete items ran on average; 0 while none is complete.
func (s *Items) MeanSeconds() float64 {
	if s.DoneCount == 0 {
		return 0
	}
	return s.doneWall / float64(s.DoneCount)
}

// Whole is the span of all items.
func (s *Items) Whole() []agenda.Span {
	return []agenda.Span{{First: 0, Last: s.Entries.Len() - 1, Step: min(1, s.Entries.Len())}}
}
