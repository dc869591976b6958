package whatif

import (
	"context"
	"strconv"
	"time"

	"qb/api"
	"qb/smartshare"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/share/planner"
	"qb/supervisor/wire/translate"
)

// patience is how long a trial waits for the one before it.
const patience = 3 * time.Second

// Trials lets one trial at a time be made, in memory that is kept from one to the next.
type Trials struct {
	turn    func(context.Context) (leave func(), err error)
	one     chan struct{} // has room for who uses scratch: an operator's turn may meet a user's
	scratch smartshare.Scratch
}

// NewTrials makes trials when it is the caller's turn.
func NewTrials(turn func(context.Context) (leave func(), err error)) *Trials {
	return &Trials{turn: turn, one: make(chan struct{}, 1)}
}

// Farm is how a trial sees the live farm.
type Farm struct {
	Find     func(facts.JobID) (facts.JobView, error)
	Operator bool // an operator or admin would make the change
	Look     func(to *planner.Snapshot) error
	View     *message.View // may be nil
}

// Try answers a query, when those before it have been.
func (t *Trials) Try(ctx context.Context, q *api.WhatIfQuery, f Farm) (api.WhatIfReply, error) {
	c, version, err := read(q, f)
	if err != nil {
		return api.WhatIfReply{}, err
	}
	end, err := t.takeTurn(ctx)
	if err != nil {
		return api.WhatIfReply{}, err
	}
	defer end()
	var s planner.Snapshot
	if err := f.Look(&s); err != nil {
		return api.WhatIfReply{}, err
	}
	reply, err := compare(&t.scratch, s, c)
	if err != nil {
		return api.WhatIfReply{}, err
	}
	reply.At, reply.Version = time.UnixMilli(int64(s.Now*1000)).UTC(), version
	nameItems(reply.Stops, f.View)
	return reply, nil
}

// takeTurn waits for the trials before. end lets the next one begin.
func (t *Trials) takeTurn(ctx context.Context) (end func(), err error) {
	leave, err := t.turn(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case t.one <- struct{}{}:
	case <-ctx.Done():
		leave()
		return nil, &api.Error{Kind: api.KindLimit, Limit: "trials", RetryAfter: time.Second,
			Text: "others try changes now; try again in a few seconds"}
	}
	return func() {
		<-t.one
		leave()
	}, nil
}

// read returns the change that a query asks for, and the version of its job as of before the farm is read. If the job
// is changed in between, applying the shown change fails as stale.
func read(q *api.WhatIfQuery, f Farm) (c Change, version int64, err error) {
	var r api.ModifyRequest
	if q.Priority != 0 {
		r.Priority = &q.Priority
	}
	if q.CPUs != 0 {
		r.CPUs = &q.CPUs
	}
	if q.Cluster != "" {
		r.Cluster = &q.Cluster
	}
	if q.MaxCPUs == api.Unlimited {
		r.MaxCPUs = new(facts.NoLimit)
	} else if q.MaxCPUs != "" {
		width, err := strconv.Atoi(q.MaxCPUs)
		if err != nil {
			return c, 0, problem.Invalid("max_cpus", "%q is neither a whole number nor *", problem.Clip(q.MaxCPUs))
		}
		r.MaxCPUs = new(max(width, facts.NoLimit))
	}
	c.Lock, c.Operator = q.Lock, f.Operator
	if q.Job == 0 {
		if len(c.Lock) == 0 {
			return c, 0, problem.Invalid("job",
				"nothing to try: give a job with priority, cpus, max_cpus or cluster, or hosts to lock")
		}
		return c, 0, nil
	}
	v, err := f.Find(facts.JobID(q.Job))
	if err != nil {
		return c, 0, err
	}
	e, err := translate.Modification(v.ID, &r, "", 0)
	if err != nil {
		return c, 0, err
	}
	c.Job = new(e.Change.On(v.JobFacts))
	if f.Operator && e.Change.Has("priority") {
		c.Job.OperatorPriority = c.Job.Priority
	}
	return c, v.Version, nil
}

// nameItems fills in what runs in the instances that would stop.
func nameItems(stops []api.WhatIfStop, v *message.View) {
	wanted := make(map[string]*api.WhatIfStop, len(stops))
	for n := range stops {
		wanted[stops[n].Instance] = &stops[n]
	}
	for h := 0; v != nil && h < len(v.Hosts) && len(stops) > 0; h++ {
		for _, i := range v.Hosts[h].Instances {
			if stop := wanted[strconv.FormatInt(int64(i.Job), 10)+"."+strconv.Itoa(i.Number)]; stop != nil {
				stop.Item = i.ItemName
			}
		}
	}
}
