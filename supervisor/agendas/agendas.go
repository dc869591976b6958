// Package agendas parses the agendas of jobs, few at a time, and keeps the latest at hand.
//
// It must never parse without a place: a large agenda takes a third of a second.
package agendas

import (
	"context"
	"fmt"
	"sync"

	"qb/agenda"
	"qb/supervisor/facts"
)

// Cache keeps parsed agendas at hand; a job's never changes.
type Cache struct {
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

// New is an empty cache. turn waits for the caller's turn to parse.
func New(turn func(context.Context) (leave func(), err error)) *Cache { return &Cache{turn: turn} }

// Read parses an agenda, in the loop's stead: there everybody would wait for it.
func (c *Cache) Read(ctx context.Context, spec agenda.Spec, mostItems int) (*agenda.Agenda, error) {
	leave, err := c.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return agenda.Parse(spec, mostItems)
}

// Get is the agenda of a job.
func (c *Cache) Get(ctx context.Context, j facts.JobFacts) (*agenda.Agenda, error) {
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
func (c *Cache) Peek(id facts.JobID) *agenda.Agenda {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byJob[id]
}
