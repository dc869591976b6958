package serve

import (
	"context"

	"qb/api"
	"qb/supervisor/access/reads"
	"qb/supervisor/job/facts"
	"qb/supervisor/page"
	"qb/supervisor/page/live"
)

// itemStates tells the state of each item of a job.
func (s *itemService) itemStates(ctx context.Context, in *jobIn) (*jsonOf[api.ItemStatesReply], error) {
	return kept(ctx, s, reads.Key{Job: facts.JobID(in.Job), Of: "states"}, s.readStates, func(r *api.ItemStatesReply) int {
		return len(r.States)
	})
}

// readStates reads them from the rows.
func (s *itemService) readStates(ctx context.Context, job facts.JobID) (*api.ItemStatesReply, error) {
	return readItems(ctx, s.backend, job, func(ctx context.Context, j *jobItems) (*api.ItemStatesReply, error) {
		marks, err := j.rows.Marks(ctx)
		if err != nil {
			return nil, err
		}
		letters := make([]byte, 0, j.agenda.Len())
		for first := 0; first < j.agenda.Len(); first += itemsAtOnce {
			err := s.eachItem(ctx, j, marks, first, min(first+itemsAtOnce, j.agenda.Len())-1, func(item api.Item) {
				letters = append(letters, live.Letter(item.Status, facts.ParseKind(item.Kind)))
			})
			if err != nil {
				return nil, err
			}
		}
		return &api.ItemStatesReply{Job: int64(job), Version: j.facts.Version, States: string(letters)}, nil
	})
}

type itemValuesIn struct {
	Job int64  `path:"job" minimum:"1" doc:"The job's id."`
	Of  string `query:"of" enum:"seconds,memory,attempts,host" default:"seconds" doc:"What to tell of each item."`
}

// itemValues tells what the items of a job took.
func (s *itemService) itemValues(ctx context.Context, in *itemValuesIn) (*jsonOf[api.ItemValuesReply], error) {
	read := func(ctx context.Context, job facts.JobID) (*api.ItemValuesReply, error) {
		return s.readValues(ctx, job, in.Of)
	}
	return kept(ctx, s, reads.Key{Job: facts.JobID(in.Job), Of: in.Of}, read, func(r *api.ItemValuesReply) int {
		return 8 * len(r.Values)
	})
}

// readValues reads that from the rows.
func (s *itemService) readValues(ctx context.Context, job facts.JobID, of string) (*api.ItemValuesReply, error) {
	return readItems(ctx, s.backend, job, func(ctx context.Context, j *jobItems) (*api.ItemValuesReply, error) {
		column := page.NewColumn(of, j.agenda.Len())
		for first := 0; first < j.agenda.Len(); first += itemsAtOnce {
			latest, err := j.rows.Latest(ctx, facts.ItemNo(first), facts.ItemNo(min(first+itemsAtOnce, j.agenda.Len())-1))
			if err != nil {
				return nil, err
			}
			for n := range latest {
				column.Add(&latest[n])
			}
		}
		reply := column.Reply(int64(job), j.facts.Version, func(n facts.ItemNo) string { return j.agenda.Item(int(n)).Name })
		return &reply, nil
	})
}

// kept answers with what was read of a job since its rows changed last, or reads it. Only the leader knows of changes.
func kept[T any](ctx context.Context, s *itemService, key reads.Key,
	read func(context.Context, facts.JobID) (*T, error), size func(*T) int) (*jsonOf[T], error) {
	began := s.loop.Load()
	if began == nil {
		reply, err := read(ctx, key.Job)
		if err != nil {
			return nil, err
		}
		return &jsonOf[T]{*reply}, nil
	}
	reply, err := s.itemReads.Get(ctx, key, func(ctx context.Context) (reads.Answer, error) {
		reply, err := read(ctx, key.Job)
		if err != nil {
			return reads.Answer{}, err
		}
		return reads.Answer{Value: reply, Bytes: size(reply)}, nil
	})
	if err != nil {
		return nil, err
	}
	return &jsonOf[T]{*reply.(*T)}, nil
}
