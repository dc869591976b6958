package serve

import (
	"context"

	"qb/api"
	"qb/supervisor/access/gate"
	"qb/supervisor/access/limits"
	"qb/supervisor/lead/problem"
)

// readLimits limit how many expensive reads run at a time. Each user may have a part of the places, and operators have
// reserved places, so that one user's calls do not make other users wait.
type readLimits struct {
	reads            *limits.Pools  // of the database
	searches         *limits.Pools  // in logs
	agendas          *limits.Pools  // parsed
	trials           *limits.Pools  // on a copy of the farm
	recalls          *limits.Pools  // jobs read back
	looks            *limits.Pools  // at the live farm, whose loop answers nothing else meanwhile
	heavy, searching *limits.AtOnce // calls of one user
}

func newReadLimits() readLimits {
	return readLimits{
		reads:     limits.NewPools(limits.Reads, "reading of the database", userReads, limits.ReadsOfOne, 0),
		searches:  limits.NewPools(limits.Searches, "searching in logs", 2, limits.OneOfOne, 2),
		agendas:   limits.NewPools(limits.Agendas, "parsing of agendas", 2, limits.OneOfOne, 1),
		trials:    limits.NewPools(limits.Trials, "trying of changes", 1, limits.OneOfOne, 1),
		recalls:   limits.NewPools(limits.Recalls, "reading of ended jobs", 2, limits.OneOfOne, 1),
		looks:     limits.NewPools(limits.Looks, "looking at the live farm", 2, limits.OneOfOne, 2),
		heavy:     limits.NewAtOnce(limits.Heavy, limits.HeavyOfOne),
		searching: limits.NewAtOnce(limits.Searches, limits.HeavyOfOne),
	}
}

// callerOf is who sends a request; what belongs to none, or comes from a worker, is the farm's own and counts as an
// operator's.
func callerOf(ctx context.Context) (user string, operator bool) {
	p := gate.PrincipalOf(ctx)
	return p.User, p.SeesAll() || p.User == "" || p.Role == api.Worker
}

// inTurn waits for one of these places for the caller.
func inTurn(t *limits.Pools) func(context.Context) (leave func(), err error) {
	return func(ctx context.Context) (func(), error) {
		user, operator := callerOf(ctx)
		leave, err := t.Take(ctx, user, operator)
		if err != nil && ctx.Err() != nil {
			return nil, problem.ErrNoAnswer
		}
		return leave, err
	}
}

// readInTurn lets users read the database in turn; the connections that they leave are for operators and the farm
// itself.
func (t *readLimits) readInTurn(ctx context.Context) (leave func(), err error) {
	user, operator := callerOf(ctx)
	if operator {
		return func() {}, nil
	}
	return t.reads.Take(ctx, user, false)
}

// few lets a user have few calls of a handler under way. The answer is made, but not sent, within.
func few[I, O any](a *limits.AtOnce,
	handler func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	return func(ctx context.Context, in *I) (*O, error) {
		user, _ := callerOf(ctx)
		leave, err := a.Enter(user)
		if err != nil {
			return nil, err
		}
		defer leave()
		return handler(ctx, in)
	}
}
