// Package selfaudit has the leader compare the workers' records of ends with the rows by itself: rows that agree with
// each other do not show that an item ran twice at once.
//
// It must never hold up the farm: it has a session of its own, asks few hosts at a time, and what it reads and retains
// is bounded. It gives way to a person's audit.
package selfaudit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"qb/api"
	"qb/internal/pause"
	"qb/supervisor/job/facts"
	"qb/supervisor/store/endsaudit"
)

// Bounds of an audit.
const (
	hostsAtOnce = 8                // hosts that ship their records at a time
	mostRecords = 500_000          // and clock checks, retained
	within      = 10 * time.Minute // a whole audit
	quiet       = 30 * time.Second // without a page from anybody, after which the others are not waited for
	span        = 24 * time.Hour   // workers keep their records for a day
	settle      = 5 * time.Minute  // what ended so shortly before a clean audit is compared once more
	named       = 5                // problems and hosts that an event names
	lookEvery   = 10 * time.Second // at the settings
)

// AfterTerm is the time from the begin of a term to its first audit, in which the hosts report.
const AfterTerm = time.Minute

// Rows reads attempts in a session of its own.
type Rows interface {
	EndsSince(ctx context.Context, since time.Time, each func(endsaudit.EndRow)) error
	EndsOf(ctx context.Context, items []facts.AttemptID, each func(endsaudit.EndRow)) error
}

// Metrics are of the last audit of this process.
type Metrics struct {
	Problems    func(kind string, n float64)
	Ended, Took interface{ Set(float64) } // seconds since 1970, and seconds
	Failed      interface{ Add(float64) } // audits that could not be carried out
}

// Auditor audits while this process leads.
type Auditor struct {
	Ends    *endsaudit.Audit
	Rows    Rows
	Hosts   func() []string      // that are up
	Every   func() time.Duration // 0: never
	First   time.Duration        // AfterTerm; shorter in tests
	Metrics Metrics
	Log     *slog.Logger

	last  atomic.Pointer[api.SelfAudit]
	clean time.Time // what ended before it was found to be as it should
}

// Term is what an auditor knows of the term in which it audits.
type Term struct {
	Now    func() time.Time
	Record func(facts.EventFacts)
}

// Last is the result of the last audit of this process, nil before the first.
func (a *Auditor) Last() *api.SelfAudit { return a.last.Load() }

// Run audits once the hosts have reported, and then again and again, until ctx ends.
func (a *Auditor) Run(ctx context.Context, t Term) {
	due := time.Now().Add(a.First)
	for pause.For(ctx, min(lookEvery, a.First)) == nil {
		every := a.Every()
		if every == 0 || time.Now().Before(due) {
			continue
		}
		err := a.once(ctx, t)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errGivesWay): // that audit sees what this one would have
			due = time.Now().Add(min(every, AfterTerm))
			continue
		case err != nil:
			a.Metrics.Failed.Add(1)
			a.Log.Warn("the workers' records could not be compared with the rows; will retry", "error", err, "in", every)
		}
		due = time.Now().Add(every)
	}
}

var errGivesWay = errors.New("somebody else reads the workers' end records")

// once is a whole audit.
func (a *Auditor) once(ctx context.Context, t Term) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	began, now := time.Now(), t.Now()
	since := now.Add(-span)
	if a.clean.After(since) {
		since = a.clean
	}
	collected := endsaudit.Collect(a.Hosts(), mostRecords)
	if err := a.collect(ctx, collected); err != nil {
		return err
	}
	now = t.Now()
	found := collected.Compare(now, since)
	if err := a.compareRows(ctx, found, since); err != nil {
		return err
	}
	missing := collected.Missing()
	records, _ := found.Runs()
	last := &api.SelfAudit{At: now, Seconds: time.Since(began).Seconds(), Since: since, Hosts: collected.Answered(),
		Missing: len(missing), Records: records, Cut: collected.Cut, Kinds: map[string]int{}}
	for _, kind := range endsaudit.Kinds {
		n := found.Counts()[kind]
		a.Metrics.Problems(kind, float64(n))
		if n > 0 {
			last.Problems, last.Kinds[kind] = last.Problems+n, n
			t.Record(facts.FarmEvent(now, "audit-problem", why(kind, n, found.Problems())))
		}
	}
	if last.Problems == 0 && len(missing) == 0 && !last.Cut {
		a.clean = now.Add(-settle)
	}
	a.last.Store(last)
	a.Metrics.Ended.Set(float64(time.Now().Unix()))
	a.Metrics.Took.Set(last.Seconds)
	if last.Problems > 0 {
		a.Log.Error("the workers' records differ from the rows; see qb audit -workers", "problems", last.Problems,
			"kinds", last.Kinds, "since", since)
	}
	return nil
}

// collect takes pages as they come, until all have come, none comes any more, or a person's audit begins.
func (a *Auditor) collect(ctx context.Context, c *endsaudit.Collection) error {
	pages, given, end, ok := a.Ends.Begin(true, hostsAtOnce)
	if !ok {
		return errGivesWay
	}
	defer end()
	silence := time.NewTimer(quiet)
	defer silence.Stop()
	for !c.Over() {
		select {
		case page := <-pages:
			c.Add(page)
			silence.Reset(quiet)
		case <-silence.C:
			return nil
		case <-given:
			return errGivesWay
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// compareRows reads the rows after the records, so that they know of each record.
func (a *Auditor) compareRows(ctx context.Context, found *endsaudit.Comparison, since time.Time) error {
	if err := a.Rows.EndsSince(ctx, since, found.Row); err != nil {
		return err
	}
	items := found.Unseen()
	if len(items) == 0 {
		return nil
	}
	var rows []endsaudit.EndRow
	if err := a.Rows.EndsOf(ctx, items, func(r endsaudit.EndRow) { rows = append(rows, r) }); err != nil {
		return err
	}
	found.Unknown(rows)
	return nil
}

// why is what an event says of the problems of one kind.
func why(kind string, n int, all []endsaudit.Problem) facts.Why {
	w := facts.Why{Reason: facts.Reason(strings.ReplaceAll(kind, "-", "_")), Params: facts.Params{Items: n}}
	var texts []string
	for _, p := range all {
		if p.Kind != kind || len(texts) == named {
			continue
		}
		if len(texts) == 0 {
			w.Params.Job, w.Params.Host = p.Job, facts.HostID(p.Host)
		}
		texts = append(texts, fmt.Sprintf("job %d, item number %d: %s", p.Job, p.Item, p.Text))
	}
	if w.Cause = strings.Join(texts, "; "); n > len(texts) {
		w.Cause += fmt.Sprintf("; and %d more", n-len(texts))
	}
	return w
}
