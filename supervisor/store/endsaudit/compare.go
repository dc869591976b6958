package endsaudit

import (
	"cmp"
	"fmt"
	"slices"
	"time"
	"unique"

	"qb/api"
	"qb/supervisor/job/facts"
)

// Tolerances of the comparison of rows with the workers' records.
const (
	endsSettle = time.Minute // rows and records may differ for as long, as ends are on their way
	clockDrift = 0.001       // seconds by which a second since boot may be wrong, away from a clock check
)

// ranRun is one run by a worker's record, with its times by the farm's time where a clock check of its boot
// is known.
type ranRun struct {
	id       facts.AttemptID
	host     string
	stateID  string
	record   api.EndRecord
	placed   bool // from, to and apart are known
	from, to time.Time
	apart    time.Duration // by which from and to may be wrong
	seen     bool          // a row knows it
}

// workerEnds are the pages of records that one worker has sent.
type workerEnds struct {
	host    string
	stateID string
	since   time.Time
	last    bool
	records []api.EndRecord
	clocks  []api.ClockCheck
}

func (w *workerEnds) add(page *api.EndsPage) {
	w.stateID = page.StateID
	w.since = page.Since
	w.last = page.Last
	for n := range page.Records { // few names, and each record has a copy
		r := &page.Records[n]
		r.Boot, r.Outcome = unique.Make(r.Boot).Value(), unique.Make(r.Outcome).Value()
	}
	for n := range page.Clocks {
		page.Clocks[n].Boot = unique.Make(page.Clocks[n].Boot).Value()
	}
	w.records = append(w.records, page.Records...)
	w.clocks = append(w.clocks, page.Clocks...)
}

// runs puts the records of one worker into the farm's time. A record that is there twice was moved twice by an agent
// that died meanwhile. The worker's own list is released.
func (w *workerEnds) runs() []ranRun {
	byBoot := map[string][]api.ClockCheck{}
	for _, c := range w.clocks {
		byBoot[c.Boot] = append(byBoot[c.Boot], c)
	}
	for _, list := range byBoot {
		slices.SortFunc(list, func(a, b api.ClockCheck) int { return cmp.Compare(a.At, b.At) })
	}
	slices.SortFunc(w.records, func(a, b api.EndRecord) int {
		return cmp.Or(cmp.Compare(a.Attempt.Job, b.Attempt.Job), cmp.Compare(a.Attempt.Item, b.Attempt.Item),
			cmp.Compare(a.Attempt.Number, b.Attempt.Number),
			cmp.Compare(a.Boot, b.Boot), cmp.Compare(a.Started, b.Started), cmp.Compare(running(a), running(b)))
	})
	records := slices.CompactFunc(w.records, func(a, b api.EndRecord) bool {
		return a.Attempt == b.Attempt && a.Boot == b.Boot && a.Started == b.Started // one may have ended while it was sent
	})
	list := make([]ranRun, 0, len(records))
	for _, r := range records {
		run := ranRun{host: w.host, stateID: w.stateID, record: r}
		run.id = facts.AttemptID{Job: facts.JobID(r.Attempt.Job), Item: facts.ItemNo(r.Attempt.Item),
			Number: r.Attempt.Number}
		checks := byBoot[r.Boot]
		from, apart, ok := farmTime(checks, r.Started)
		to, apartTo, _ := farmTime(checks, stillAt(r))
		run.placed = ok
		run.from = from
		run.to = to
		run.apart = max(apart, apartTo)
		list = append(list, run)
	}
	w.records, w.clocks = nil, nil
	return list
}

func running(r api.EndRecord) int {
	if r.Outcome == api.OutcomeRunning {
		return 1
	}
	return 0
}

// farmTime is a moment since boot by the farm's time, and by how much that may be wrong.
func farmTime(checks []api.ClockCheck, at float64) (t time.Time, apart time.Duration, ok bool) {
	if len(checks) == 0 {
		return t, 0, false
	}
	n, _ := slices.BinarySearchFunc(checks, at, func(c api.ClockCheck, at float64) int { return cmp.Compare(c.At, at) })
	best := checks[min(n, len(checks)-1)]
	wrong := func(c api.ClockCheck) float64 { return c.Error + clockDrift*max(at-c.At, c.At-at) }
	if n > 0 && wrong(checks[n-1]) < wrong(best) {
		best = checks[n-1]
	}
	return best.Time.Add(time.Duration((at - best.At) * float64(time.Second))),
		time.Duration(wrong(best) * float64(time.Second)), true
}

// Comparison compares the runs of all workers with each other, and then with the rows.
type Comparison struct {
	now      time.Time // the farm's
	runs     []ranRun  // by item and attempt
	since    map[string]time.Time
	problems []Problem
	counts   map[string]int
}

func newComparison(now time.Time, workers []*workerEnds) *Comparison {
	a := &Comparison{now: now, since: map[string]time.Time{}, counts: map[string]int{}}
	for _, w := range workers {
		if w.last && !w.since.IsZero() {
			a.since[w.host] = w.since
		}
		a.runs = append(a.runs, w.runs()...)
	}
	slices.SortStableFunc(a.runs, func(x, y ranRun) int { return compareAttemptIDs(x.id, y.id) })
	return a
}

func compareAttemptIDs(x, y facts.AttemptID) int {
	return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Item, y.Item), cmp.Compare(x.Number, y.Number))
}

const maxEndProblems = 100 // of each kind

func (a *Comparison) problem(kind string, id facts.AttemptID, host, format string, args ...any) {
	if a.counts[kind]++; a.counts[kind] <= maxEndProblems {
		a.problems = append(a.problems,
			Problem{Kind: kind, Job: id.Job, Item: id.Item, Host: host, Text: fmt.Sprintf(format, args...)})
	}
}

// compareRuns finds runs of one item at once, and attempts that ran twice.
func (a *Comparison) compareRuns() {
	for first := 0; first < len(a.runs); {
		after := first + 1
		for after < len(a.runs) && a.runs[after].id.Job == a.runs[first].id.Job &&
			a.runs[after].id.Item == a.runs[first].id.Item {
			after++
		}
		a.compareItem(a.runs[first:after])
		first = after
	}
}

func (a *Comparison) compareItem(runs []ranRun) {
	for n, x := range runs {
		for _, y := range runs[n+1 : min(len(runs), n+64)] { // an item has few runs in a day
			if x.record.Started == 0 || y.record.Started == 0 {
				continue
			}
			if x.id == y.id {
				a.problem(ProblemDoubled, x.id, x.host, "attempt %d ran twice: on %s and on %s", x.id.Number, x.host, y.host)
			}
			if together, apart := overlap(x, y); together > apart {
				a.problem(ProblemOverlap, x.id, x.host,
					"attempt %d on %s and attempt %d on %s ran at once for %.1f s (the clocks may be %.1f s apart)",
					x.id.Number, x.host, y.id.Number, y.host, together.Seconds(), apart.Seconds())
			}
		}
	}
}

// overlap is how long both ran, and by how much that may be wrong. Of a run that was lost the end is not known, only
// that it began.
func overlap(x, y ranRun) (together, apart time.Duration) {
	if x.record.Boot == y.record.Boot { // one clock
		start := max(x.record.Started, y.record.Started)
		return time.Duration((min(x.knownEnd(), y.knownEnd()) - start) * float64(time.Second)), 0
	}
	if !x.placed || !y.placed {
		return 0, 0
	}
	end := func(r ranRun) time.Time {
		if r.record.Outcome == outcomeLost {
			return r.from
		}
		return r.to
	}
	start, until := x.from, end(x)
	if y.from.After(start) {
		start = y.from
	}
	if end(y).Before(until) {
		until = end(y)
	}
	return until.Sub(start), x.apart + y.apart
}

const outcomeLost = "lost"

func (r ranRun) knownEnd() float64 {
	if r.record.Outcome == outcomeLost {
		return r.record.Started
	}
	return stillAt(r.record)
}

// stillAt is from when on a run did nothing more.
func stillAt(r api.EndRecord) float64 {
	if r.Frozen > 0 {
		return min(r.Frozen, r.Ended)
	}
	return r.Ended
}

// row compares what a row says with the records of its attempt.
func (a *Comparison) row(r EndRow) {
	n, found := slices.BinarySearchFunc(a.runs, r.ID, func(run ranRun, id facts.AttemptID) int {
		return compareAttemptIDs(run.id, id)
	})
	if !found {
		since, covered := a.since[r.Host]
		if r.State == facts.Done && covered && r.EndedAt.Add(-endsSettle).After(since) &&
			r.EndedAt.Add(endsSettle).Before(a.now) {
			a.problem(ProblemNoRecord, r.ID, r.Host, "attempt %d is done by its row, and %s has no record of a run",
				r.ID.Number, r.Host)
		}
		return
	}
	for ; n < len(a.runs) && a.runs[n].id == r.ID; n++ {
		run := &a.runs[n]
		run.seen = true
		a.compareRow(run, r)
	}
}

func (a *Comparison) compareRow(run *ranRun, r EndRow) {
	ended := run.record.Outcome != api.OutcomeRunning
	whole := run.record.Outcome == "exit" && run.record.ExitCode != nil && *run.record.ExitCode == 0
	old := run.placed && run.to.Add(endsSettle).Before(a.now)
	number := r.ID.Number
	switch {
	case run.host != r.Host && run.stateID != r.StateID && run.record.Started > 0:
		a.problem(ProblemToldElse, r.ID, r.Host, "attempt %d was given to %s by its row, and ran on %s", number,
			r.Host, run.host)
	case r.EndedAt == nil && ended && old:
		a.problem(ProblemLostEnd, r.ID, r.Host, "attempt %d ended on %s as %s, and lives by its row", number, run.host,
			run.record.Outcome)
	case r.State == facts.Done && ended && !whole:
		a.problem(ProblemToldElse, r.ID, r.Host, "attempt %d is done by its row, and ended on %s as %s", number, run.host,
			run.record.Outcome)
	case (r.State == facts.Failed || r.State == facts.Preempted) && whole:
		a.problem(ProblemToldElse, r.ID, r.Host, "attempt %d is %s by its row, and exited 0 on %s", number, r.State, run.host)
	}
}

// unseen are the items of runs that no row has spoken of yet.
func (a *Comparison) unseen(most int) []facts.AttemptID {
	var items []facts.AttemptID
	for _, run := range a.runs {
		if !run.seen && run.record.Started > 0 && len(items) < most {
			items = append(items, run.id)
		}
	}
	return slices.CompactFunc(items, func(x, y facts.AttemptID) bool { return x.Job == y.Job && x.Item == y.Item })
}

// compareUnseen looks at the rows of those items: a run is unknown if its item has rows, but none for it. Rows that
// became sums of their day say nothing.
func (a *Comparison) compareUnseen(rows []EndRow) {
	slices.SortFunc(rows, func(x, y EndRow) int { return compareAttemptIDs(x.ID, y.ID) })
	for _, run := range a.runs {
		if run.seen || run.record.Started == 0 {
			continue
		}
		at, found := slices.BinarySearchFunc(rows, run.id, func(r EndRow, id facts.AttemptID) int {
			return compareAttemptIDs(r.ID, id)
		})
		near := func(n int) bool {
			return n >= 0 && n < len(rows) && rows[n].ID.Job == run.id.Job && rows[n].ID.Item == run.id.Item
		}
		switch {
		case found:
			a.compareRow(&run, rows[at])
		case near(at), near(at - 1):
			a.problem(ProblemNoRow, run.id, run.host, "attempt %d ran on %s, and no row knows it", run.id.Number, run.host)
		}
	}
}
