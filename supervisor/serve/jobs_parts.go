package serve

import (
	"cmp"
	"context"
	"errors"

	"qb/agenda"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/wire/parts"
)

// divided is the rows of the jobs that a submission makes, and what is to be remarked on them.
func (s *jobService) divided(ctx context.Context,
	row facts.JobFacts) (rows []facts.JobFacts, remarks []string, err error) {
	c := s.live.now.Load()
	rows, remarks, err = parts.Of(row, func() (*agenda.Agenda, error) {
		return s.readAgenda(ctx, row.Agenda)
	}, parts.Site{Priority: c.PAgendaPriority, Most: c.PAgendaMost.Limit()})
	if fault := (*parts.Fault)(nil); errors.As(err, &fault) {
		return nil, nil, problem.Invalid(fault.Member, "%s", fault.Text)
	}
	return rows, remarks, err
}

// submitParts submits the jobs of a submission one after the other, all asked about before, and answers about the last.
// Said gets the remarks on the others. What breaks off later goes on when the call is repeated under its key.
func (s *jobService) submitParts(ctx context.Context, c term.Call, e message.JobSubmitted, rows []facts.JobFacts,
	said func([]string)) (any, error) {
	if err := s.triedParts(ctx, e, rows); err != nil {
		return nil, err
	}
	for range len(rows) - 1 { // the submission has paid for one
		if err := s.limits.Submit(e.Facts.User, 0); err != nil {
			return nil, err
		}
	}
	last := len(rows) - 1
	before := make([]facts.JobID, last)
	for n, row := range rows {
		if n > 0 {
			row.PGrp = cmp.Or(row.PGrp, before[0])
		}
		call := c
		switch {
		case n < last:
			call = c.Beside()
		case last > 0:
			division := *row.Division
			division.Jobs = before
			row.Division = &division
		}
		e.Facts = row
		body, err := s.submitFacts(ctx, call, e)
		if err != nil || n == last {
			return body, err
		}
		reply := body.(message.JobReply)
		before[n] = reply.Job.ID
		said(reply.Remarks)
	}
	return nil, nil
}

// triedParts refuses what the farm would refuse of any of the jobs.
func (s *jobService) triedParts(ctx context.Context, e message.JobSubmitted, rows []facts.JobFacts) error {
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
