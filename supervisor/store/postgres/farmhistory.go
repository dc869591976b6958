package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// eventsLooked is how many rows one page of the history of the farm is chosen from, whatever is asked for.
const eventsLooked = 200_000

// FarmHistory lists events of the whole farm, the newest first, and the place from which to go on.
func (p *Store) FarmHistory(ctx context.Context, q store.EventQuery) ([]facts.EventFacts, int64, error) {
	last, _, err := readOne(ctx, p.pool, "the last event", pgx.RowTo[int64], sqlLastEvent)
	if err != nil {
		return nil, 0, err
	}
	before := last + 1
	limit := rules.PageOf(q.Limit)
	id := int64(0)
	if q.Before > 0 {
		before = min(before, q.Before)
	}
	least := max(1, before-eventsLooked)
	list, err := readRows(ctx, p.pool, "the history of the farm",
		func(row pgx.CollectableRow) (e facts.EventFacts, err error) {
			err = row.Scan(&id, &e.At, &e.Type, &e.Job, &e.Item, &e.Instance, &e.Host, &e.By, &e.Cause, &e.Reason, &e.Params)
			return e, err
		}, sqlFarmHistory, least, before, rules.Clean(q.User), rules.Clean(q.Host), rules.Clean(q.Type), q.Job, limit)
	switch {
	case err != nil:
		return nil, 0, err
	case len(list) == limit:
		return list, id, nil
	case least > 1:
		return list, least, nil
	}
	return list, 0, nil
}
