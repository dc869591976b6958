package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/agenda"
	"qb/supervisor/job/facts"
	"qb/supervisor/store/endsaudit"
	"qb/supervisor/store/rules"
)

// AuditReport says whether every item of every job is accounted for exactly once.
type AuditReport struct {
	Jobs     int64 `json:"jobs"`
	Items    int64 `json:"items"`
	Attempts int64 `json:"attempts"` // those in compacted are in it
	// Attempts of jobs that are there, and jobs that are not, of which only daily sums and marks tell.
	Compacted int64 `json:"compacted,omitempty"`
	Removed   int64 `json:"removed_jobs,omitempty"`

	Problems []Problem `json:"problems"` // at most maxProblems of each kind
}

// Problem names rows that cannot be as they are.
type Problem struct {
	Kind string        `json:"kind"`
	Job  facts.JobID   `json:"job"`  // 0 for none
	Item *facts.ItemNo `json:"item"` // nil for none
	Text string        `json:"text"`
}

// String names the job and item before the text, and the kind behind it.
func (p Problem) String() string {
	place := ""
	if p.Job != 0 {
		place = fmt.Sprintf("job %d: ", p.Job)
	}
	if p.Item != nil {
		place = fmt.Sprintf("job %d, item number %d: ", p.Job, *p.Item)
	}
	return place + p.Text + " (" + p.Kind + ")"
}

// The kinds of problems, append-only.
const (
	ProblemAgenda   = "agenda"   // cannot be read
	ProblemOutside  = "outside"  // an attempt or a mark of an item that the agenda does not have
	ProblemMissing  = "missing"  // an ended job with items that nothing accounts for
	ProblemGap      = "gap"      // attempt numbers that do not run from 1
	ProblemTwice    = "twice"    // several attempts of an item, none of them repeated
	ProblemFollowed = "followed" // an attempt after a final one of the same item
	ProblemState    = "state"    // a state, its end and its "again" that exclude each other
	ProblemTimes    = "times"    // an end before the start, a finish that does not fit the state
	ProblemLive     = "live"     // a live attempt of an ended job
	ProblemOrphan   = "orphan"   // rows of a job that is not there
	ProblemMarks    = "marks"    // marks that overlap
	ProblemEpoch    = "epoch"    // events of terms in the wrong order
	ProblemHistory  = "history"  // daily sums that are not of as many attempts as were compacted
	ProblemHeld     = "held"     // slots, memory, resources or a host that what lives cannot hold as it does
	ProblemUsage    = "usage"    // usage above the sum of all charges, or without a payer
	maxProblems     = 100
)

var auditChecks = []struct{ kind, sql string }{
	{ProblemGap, sqlAuditGaps}, {ProblemTwice, sqlAuditTwice}, {ProblemFollowed, sqlAuditFollowed},
	{ProblemState, sqlAuditStates},
	{ProblemTimes, sqlAuditTimes}, {ProblemTimes, sqlAuditJobTimes}, {ProblemLive, sqlAuditLiveInFinal},
	{ProblemOrphan, sqlAuditOrphans}, {ProblemEpoch, sqlAuditEpochs},
	{ProblemHistory, sqlAuditHistory}, {ProblemHeld, sqlAuditHeld}, {ProblemUsage, sqlAuditUsage},
}

// Audit reads one consistent snapshot of the database that url names. It may run beside a supervisor. An error says
// that the database could not be read; what is wrong in it is in the report.
func Audit(ctx context.Context, url string) (report AuditReport, err error) {
	err = inspect(ctx, url, func(tx pgx.Tx) error {
		report, err = audit(ctx, tx)
		return err
	})
	return report, err
}

// Live are the attempts that hold something, by item: what the leader must count as taken, no more and no less.
func Live(ctx context.Context, url string) (live []facts.AttemptFacts, err error) {
	err = inspect(ctx, url, func(tx pgx.Tx) error {
		live, err = readRows(ctx, tx, "live attempts", newAttemptScanner().scan, sqlAuditLive)
		return err
	})
	return live, err
}

// inspect opens a separate connection and calls read in a transaction that sees one consistent snapshot.
func inspect(ctx context.Context, url string, read func(pgx.Tx) error) error {
	p, err := beside(url)
	if err != nil {
		return err
	}
	return p.inspect(ctx, read)
}

func (p *Store) inspect(ctx context.Context, read func(pgx.Tx) error) error {
	conn, err := p.reach(ctx, "qb audit")
	if err != nil {
		return connecting(p.lead, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	readUTC(conn.TypeMap())
	if err := snapshot(ctx, conn, read); err != nil {
		return fmt.Errorf("auditing the database: %w", err)
	}
	return nil
}

func audit(ctx context.Context, tx pgx.Tx) (AuditReport, error) {
	report := AuditReport{Problems: []Problem{}}
	for _, check := range auditChecks {
		p := Problem{Kind: check.kind}
		err := scanEach(ctx, tx, []any{&p.Job, &p.Item, &p.Text}, func() {
			report.Problems = append(report.Problems, p)
		}, check.sql, maxProblems)
		if err != nil {
			return report, err
		}
	}
	if err := report.checkMarks(ctx, tx); err != nil {
		return report, err
	}
	if err := tx.QueryRow(ctx, sqlAuditRemoved).Scan(&report.Removed); err != nil {
		return report, err
	}
	incomplete, err := report.countJobs(ctx, tx)
	if err != nil {
		return report, err
	}
	return report, report.nameMissing(ctx, tx, incomplete)
}

// checkMarks finds marks that have an item in common.
func (r *AuditReport) checkMarks(ctx context.Context, tx pgx.Tx) error {
	var job, of facts.JobID
	var span agenda.Span
	var over []agenda.Span // of the job, that may still meet another
	return scanEach(ctx, tx, []any{&job, &span.First, &span.Last, &span.Step}, func() {
		if job != of {
			of, over = job, nil
		}
		over = slices.DeleteFunc(over, func(o agenda.Span) bool { return o.Last < span.First })
		for _, o := range over {
			if item, shared := o.Meets(span); shared {
				r.Problems = append(r.Problems,
					Problem{ProblemMarks, job, (*facts.ItemNo)(&item), fmt.Sprintf("marks %d-%dx%d and %d-%dx%d both have it",
						o.First, o.Last, o.Step, span.First, span.Last, span.Step)})
			}
		}
		over = append(over, span)
	}, sqlAuditMarks)
}

// auditedJob is what the rows of a job add up to.
type auditedJob struct {
	id               facts.JobID
	state            facts.JobState
	spec             agenda.Spec
	attempts         int64
	compacted        int64
	lastItem, done   int // done: items with a done attempt
	stands           int // items with an attempt that was not repeated
	lastMarked       int
	complete, marked int // items that only a mark accounts for
}

// countJobs counts, checks each job against its agenda, and returns the complete jobs that are not.
func (r *AuditReport) countJobs(ctx context.Context, tx pgx.Tx) (map[facts.JobID]int, error) {
	incomplete := map[facts.JobID]int{}
	var j auditedJob
	err := scanEach(ctx, tx, []any{&j.id, &j.state, &j.spec, &j.attempts, &j.compacted, &j.lastItem, &j.done, &j.stands,
		&j.lastMarked,
		&j.complete, &j.marked}, func() {
		r.Jobs++
		r.Attempts += j.attempts + j.compacted
		r.Compacted += j.compacted
		items, err := rules.ItemsOf(j.spec)
		j.spec = agenda.Spec{}
		if err != nil {
			r.add(ProblemAgenda, j.id, "its agenda cannot be read: %v", err)
			return
		}
		r.Items += int64(items)
		if last := max(j.lastItem, j.lastMarked); last >= items {
			r.add(ProblemOutside, j.id, "has %d items, numbered from 0, but rows of item %d", items, last)
		}
		if j.state == facts.Complete && j.done+j.complete != items && len(incomplete) < maxProblems {
			incomplete[j.id] = items
		}
		if j.state.Final() && j.stands+j.marked != items {
			r.add(ProblemMissing, j.id, "is %s with %d items, but %d are accounted for", j.state, items, j.stands+j.marked)
		}
	}, sqlAuditJobs)
	return incomplete, err
}

func (r *AuditReport) nameMissing(ctx context.Context, tx pgx.Tx, incomplete map[facts.JobID]int) error {
	for _, id := range slices.Sorted(maps.Keys(incomplete)) {
		missing, err := readRows(ctx, tx, "missing items", pgx.RowTo[facts.ItemNo], sqlAuditIncomplete, id, incomplete[id])
		if err != nil {
			return err
		}
		for _, item := range missing {
			r.Problems = append(r.Problems,
				Problem{ProblemMissing, id, &item, "the job is complete, but the item was neither done nor marked complete"})
		}
	}
	return nil
}

func (r *AuditReport) add(kind string, job facts.JobID, format string, args ...any) {
	same := 0
	for _, p := range r.Problems {
		if p.Kind == kind {
			same++
		}
	}
	if same >= maxProblems {
		return
	}
	r.Problems = append(r.Problems, Problem{Kind: kind, Job: job, Text: fmt.Sprintf(format, args...)})
}

// EndsSince hands each attempt that lives or ended since then to each, in any order.
func EndsSince(ctx context.Context, url string, since time.Time, each func(endsaudit.EndRow)) error {
	p, err := beside(url)
	if err != nil {
		return err
	}
	return p.EndsSince(ctx, since, each)
}

// EndsOf hands each attempt of the items to each, in any order.
func EndsOf(ctx context.Context, url string, items []facts.AttemptID, each func(endsaudit.EndRow)) error {
	p, err := beside(url)
	if err != nil {
		return err
	}
	return p.EndsOf(ctx, items, each)
}

func itemColumns(items []facts.AttemptID) (jobs []int64, numbers []int32) {
	for _, id := range items {
		jobs, numbers = append(jobs, int64(id.Job)), append(numbers, int32(id.Item))
	}
	return jobs, numbers
}

// EndsSince hands each attempt that lives or ended since then to each, in any order, by a session of its own.
func (s *Store) EndsSince(ctx context.Context, since time.Time, each func(endsaudit.EndRow)) error {
	return s.endRows(ctx, each, sqlEndsSince, since)
}

// EndsOf passes each attempt of the items to each, in any order, in a session of its own.
func (s *Store) EndsOf(ctx context.Context, items []facts.AttemptID, each func(endsaudit.EndRow)) error {
	jobs, numbers := itemColumns(items)
	return s.endRows(ctx, each, sqlEndsOf, jobs, numbers)
}

func (s *Store) endRows(ctx context.Context, each func(endsaudit.EndRow), sql string, args ...any) error {
	return s.inspect(ctx, func(tx pgx.Tx) error {
		var r endsaudit.EndRow
		targets := []any{&r.ID.Job, &r.ID.Item, &r.ID.Number, &r.Host, &r.StateID, &r.State, &r.EndedAt, &r.ExitCode}
		return scanEach(ctx, tx, targets, func() { each(r) }, sql, args...)
	})
}
