package serve

import (
	"context"
	"fmt"
	"sync"

	"qb/agenda"
	"qb/supervisor/job/facts"
)

// agendaCache keeps parsed agendas at hand; a job's never changes.
type agendaCache struct {
	turn func(context.Context) (leave func(), err error) // to parse

	mu    sync.Mutex
	byJob map[facts.JobID]*agenda.Agenda
	items int // of all of them
}

// What is kept at hand.
const (
	mostJobs      = 256
	mostItemsKept = 10_000_000 // 16 bytes each at worst
)

// newAgendaCache is an empty cache. turn waits for the caller's turn to parse.
func newAgendaCache(turn func(context.Context) (leave func(), err error)) *agendaCache {
	return &agendaCache{turn: turn}
}

// Read parses an agenda, in the loop's stead: there everybody would wait for it.
func (c *agendaCache) Read(ctx context.Context, spec agenda.Spec, mostItems int) (*agenda.Agenda, error) {
	leave, err := c.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return agenda.Parse(spec, mostItems)
}

// Get is the agenda of a job.
func (c *agendaCache) Get(ctx context.Context, j facts.JobFacts) (*agenda.Agenda, error) {
	if a := c.Peek(j.ID); a != nil {
		return a, nil
	}
	a, err := c.Read(ctx, j.Agenda, 0)
	if err != nil {
		return nil, fmt.Errorf("the agenda of job %d: %w", j.ID, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byJob == nil || len(c.byJob) >= mostJobs || c.items+a.Len() > mostItemsKept {
		c.byJob, c.items = map[facts.JobID]*agenda.Agenda{}, 0
	}
	if c.byJob[j.ID] == nil {
		c.byJob[j.ID], c.items = a, c.items+a.Len()
	}
	return a, nil
}

// Peek is the agenda if it is at hand.
func (c *agendaCache) Peek(id facts.JobID) *agenda.Agenda {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byJob[id]
}
