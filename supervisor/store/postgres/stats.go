package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// Stats reports what ended attempts used, by day, user, account, cluster, host and kind as far as asked for. It
// answers the same before and after attempts are compacted.
func (p *Store) Stats(ctx context.Context, q store.StatsQuery) ([]store.StatsRow, error) {
	q.By, q.Tags = orEmpty(q.By), rules.CleanTags(q.Tags)
	tags := tagsOf(q)
	hosts, classes, err := p.classes(ctx, q)
	if err != nil {
		return nil, err
	}
	scan := func(row pgx.CollectableRow) (store.StatsRow, error) { return scanStatsRow(row, tags) }
	return readRows(ctx, p.pool, "sums of attempts", scan, sqlStats, q.From, q.To, q.By, rules.Clean(q.User),
		rules.Clean(q.Account), rules.Clean(q.Cluster),
		rules.Clean(q.Host), rules.PageOf(q.Limit), tags, q.Tags.Map(), hosts, classes)
}

// classes are the hosts with their classes, if the report is divided by them.
func (p *Store) classes(ctx context.Context, q store.StatsQuery) (hosts, classes []string, err error) {
	hosts, classes = []string{}, []string{}
	if !slices.Contains(q.By, store.ByClass) {
		return hosts, classes, nil
	}
	rows, err := readRows(ctx, p.pool, "the classes of hosts", scanHost, sqlLoadHosts)
	for _, h := range rows {
		hosts, classes = append(hosts, string(h.ID)), append(classes, rules.ClassOf(h))
	}
	return hosts, classes, err
}

// tagsOf returns the names of the tags that the report is divided by, in the order of facts.TagNames.
func tagsOf(q store.StatsQuery) []string {
	names := []string{}
	for _, name := range facts.TagNames {
		if slices.Contains(q.By, name) {
			names = append(names, name)
		}
	}
	return names
}

// scanStatsRow reads a row whose values of these tags are an array.
func scanStatsRow(row pgx.CollectableRow, tags []string) (r store.StatsRow, err error) {
	var day *time.Time
	var tagged []string
	err = row.Scan(&day, &r.User, &r.Account, &r.Cluster, &r.Host, &r.Kind, &tagged, &r.Class, &r.Attempts, &r.Slots,
		&r.CPU, &r.Memory,
		&r.Secondary, &r.Preempted, &r.Killed, &r.Failed, &r.Charged)
	if day != nil {
		r.Day = rules.Exact(*day)
	}
	for n, value := range tagged {
		r.Tags[slices.Index(facts.TagNames[:], tags[n])] = value
	}
	return r, err
}
