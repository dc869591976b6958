package audit

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"qb/internal/pause"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

const (
	queued     = 1000 // refusals and reads that wait to be written
	Each       = 0.5  // a second and caller, in the long run
	Burst      = 60   // at once
	Pause      = time.Second
	maxCallers = 10_000 // whose pace is remembered
	maxDetail  = 2 << 10
	MaxObject  = 200 // bytes of a text of others in an object's name
)

// Writer writes the rows of refusals and reads.
type Writer struct {
	store  store.Reader
	failed func(error)
	queue  chan facts.AuditFacts

	mu      sync.Mutex
	pace    map[string]*rate.Limiter     // by caller
	dropped map[string]*facts.AuditFacts // by caller and outcome
}

// New makes a writer that tells failed how each commit of rows ended.
func New(r store.Reader, failed func(error)) *Writer {
	return &Writer{store: r, failed: failed, queue: make(chan facts.AuditFacts, queued), pace: map[string]*rate.Limiter{},
		dropped: map[string]*facts.AuditFacts{}}
}

// Changed takes the row of a change that writes nothing into the database itself.
func (a *Writer) Changed(n *Note) {
	if n.Begun() {
		a.Add(n.Done(time.Now(), nil))
	}
}

// Add takes a row if the caller has not had too many; else it is counted.
func (a *Writer) Add(row facts.AuditFacts) {
	a.mu.Lock()
	defer a.mu.Unlock()
	caller := cmp.Or(row.Who, row.Origin)
	pace := a.pace[caller]
	if pace == nil {
		if len(a.pace) >= maxCallers {
			clear(a.pace)
		}
		pace = rate.NewLimiter(Each, Burst)
		a.pace[caller] = pace
	}
	if pace.Allow() {
		select {
		case a.queue <- row:
			return
		default:
		}
	}
	if len(a.dropped) >= queued {
		caller, row = "", facts.AuditFacts{At: row.At}
	}
	if d := a.dropped[caller]; d != nil {
		d.Times++
		return
	}
	a.dropped[caller] = &facts.AuditFacts{At: row.At, Who: row.Who, Token: row.Token, Origin: row.Origin, Verb: row.Verb,
		Code: row.Code, Outcome: "dropped", Times: 1}
}

// Run writes what was noted, about once a second, until ctx ends; then once more.
func (a *Writer) Run(ctx context.Context) {
	counted := time.Now()
	for {
		_ = pause.For(ctx, Pause)
		ending := ctx.Err() != nil
		a.write(ending || time.Since(counted) >= time.Minute)
		if time.Since(counted) >= time.Minute {
			counted = time.Now()
		}
		if ending {
			return
		}
	}
}

func (a *Writer) write(alsoDropped bool) {
	var rows []facts.AuditFacts
	for len(a.queue) > 0 && len(rows) < queued {
		rows = append(rows, <-a.queue)
	}
	if alsoDropped {
		a.mu.Lock()
		for _, d := range a.dropped {
			rows = append(rows, *d)
		}
		clear(a.dropped)
		a.mu.Unlock()
	}
	if len(rows) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), store.ReadFor)
	defer cancel()
	a.failed(a.store.AddAudits(ctx, rows))
}
