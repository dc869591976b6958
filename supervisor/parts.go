package supervisor

import (
	"context"
	"errors"

	"qb/agenda"
	"qb/supervisor/facts"
	"qb/supervisor/message"
	"qb/supervisor/parts"
	"qb/supervisor/problem"
	"qb/supervisor/term"
)

// divided is the rows of the jobs that a submission makes.
func (s *server) divided(ctx context.Context, row facts.JobFacts) ([]facts.JobFacts, error) {
	c := s.live.now.Load()
	read := func() (*agenda.Agenda, error) { return s.readAgenda(ctx, row.Agenda) }
	rows, err := parts.Of(row, read, parts.Site{Priority: c.PAgendaPriority, Most: c.PAgendaMost.Limit()})
	if fault := (*parts.Fault)(nil); errors.As(err, &fault) {
		return nil, problem.Invalid(fault.Member, "%s", fault.Text)
	}
	return rows, err
}

// submitParts submits the jobs of a submission one after the other; made gets the ids of all but the last, which the reply is
// about. All are asked about before the first is submitted. What breaks off later goes on when the call is repeated under its key.
func (s *server) submitParts(ctx context.Context, c term.Call, e message.JobSubmitted, rows []facts.JobFacts, made func(facts.JobID)) (any, error) {
	if err := s.triedParts(ctx, e, rows); err != nil {
		return nil, err
	}
	for range len(rows) - 1 { // the submission has paid for one
		if err := s.limits.Submit(e.Facts.User, 0); err != nil {
			return nil, err
		}
	}
	var group facts.JobID
	for n, row := range rows {
		if row.PGrp == 0 {
			row.PGrp = group
		}
		e.Facts = row
		call := c
		if n < len(rows)-1 {
			call = c.Beside()
		}
		body, err := s.submitFacts(ctx, call, e)
		if err != nil || n == len(rows)-1 {
			return body, err
		}
		id := body.(message.JobReply).Job.ID
		made(id)
		if group == 0 {
			group = id
		}
	}
	return nil, nil
}

// triedParts refuses what the farm would refuse of any of the jobs.
func (s *server) triedParts(ctx context.Context, e message.JobSubmitted, rows []facts.JobFacts) error {
	if len(rows) == 1 {
		return nil
	}
	for _, row := range rows {
		e.Facts = row
		if err := s.complete(ctx, &e); err != nil {
			return err
		}
		if _, err := s.judged(ctx, e); err != nil {
			return err
		}
	}
	return nil
}
