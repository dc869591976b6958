package supervisor

import (
	"context"
	"math"
	"time"

	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/farm"
	"qb/supervisor/outbox"
	"qb/supervisor/problem"
	"qb/supervisor/translate"
)

type syncIn struct{ Body api.Sync }

type syncOut struct{ Body *api.SyncReply }

// syncWorker takes a worker's word to the farm and brings back what should run.
func (s *server) syncWorker(ctx context.Context, in *syncIn) (*syncOut, error) {
	l, err := s.leading()
	if err != nil {
		return nil, err
	}
	e, err := translate.ReadSync(&in.Body, l.epoch, l.clock.now())
	if err != nil {
		return nil, err
	}
	if err := s.hearTerm(l, &in.Body); err != nil {
		return nil, err
	}
	e.Host.Key = principalOf(ctx).HostKey
	s.metrics.Syncs.Inc()
	var reply *api.SyncReply
	if l.standing != "" {
		reply, err = s.stand(ctx, l, e, &in.Body)
	} else {
		reply, err = s.askSync(ctx, l, e)
	}
	if err != nil {
		return nil, err
	}
	reply.Now, reply.AskEnds = l.clock.now(), s.ends.asks(in.Body.Host, time.Now())
	return &syncOut{reply}, nil
}

func (s *server) askSync(ctx context.Context, l *loop, e farm.WorkerSynced) (*api.SyncReply, error) {
	body, err := l.ask(ctx, e.Hold+syncSlack, true, func(t outbox.Ticket) farm.Event {
		e.Ticket = t
		return e
	})
	if err != nil {
		return nil, err
	}
	return translate.AnswerSync(body.(farm.SyncReply), l.watch.Term(), l.proofAge())
}

type appendLogIn struct{ Body api.LogChunk }

type appendLogOut struct{ Body api.LogReply }

// appendLog keeps a piece of an attempt's output. Only attempts that were given out are taken.
func (s *server) appendLog(ctx context.Context, in *appendLogIn) (*appendLogOut, error) {
	id := translate.AttemptID(in.Body.Attempt)
	if _, err := s.leading(); err != nil {
		return nil, err // the leader's folder is the one that is read from
	}
	if id.Job < 1 || id.Item < 0 || id.Item > math.MaxInt32 || id.Number < 1 || id.Number > math.MaxInt32 || in.Body.Offset < 0 || len(in.Body.Data) > maxChunk {
		return nil, problem.Invalid("attempt", "job, item, attempt, offset or length cannot be; a chunk has at most %d bytes", maxChunk)
	}
	if err := s.mustBeGiven(ctx, id); err != nil {
		return nil, err
	}
	size, err := s.logs.Append(id, in.Body.Offset, in.Body.Data, in.Body.Final)
	if err != nil {
		return nil, err
	}
	return &appendLogOut{api.LogReply{Size: size}}, nil
}

// mustBeGiven refuses output of attempts that no row knows, or that were given to another host: disk space is for real
// ones.
func (s *server) mustBeGiven(ctx context.Context, id facts.AttemptID) error {
	hostKey := principalOf(ctx).HostKey
	if s.logs.Known(id, hostKey) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	rows, err := s.reader.Attempts(ctx, id.Job, facts.AttemptID{Item: id.Item, Number: id.Number - 1}, 1)
	if err != nil {
		return problem.Reading("an attempt", err)
	}
	if len(rows) == 0 || rows[0].AttemptID != id {
		return api.Errorf(api.KindNotFound, "attempt %d of item %d of job %d was never given out", id.Number, id.Item, id.Job)
	}
	now := time.Now()
	if a := rows[0]; !a.EndedAt.IsZero() && now.Sub(a.EndedAt) > logsTaken {
		return api.Errorf(api.KindConflict, "attempt %d of item %d of job %d ended at %s; its output is taken for %s after that",
			id.Number, id.Item, id.Job, a.EndedAt.UTC().Format(time.RFC3339), logsTaken)
	}
	if err := s.mayShip(ctx, rows[0]); err != nil {
		return err
	}
	s.logs.Learn(id, hostKey, now.Add(logsLookAgain))
	return nil
}
