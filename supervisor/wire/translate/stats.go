package translate

import (
	"slices"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// StatsRow is a row of a report on the wire; by names its groups.
func StatsRow(r store.StatsRow, by []string) api.StatsRow {
	part := func(of float64) float64 {
		if r.Slots <= 0 {
			return 0
		}
		return of / r.Slots
	}
	row := api.StatsRow{
		User: r.User, Cluster: r.Cluster, Host: r.Host, Kind: r.Kind, Class: r.Class, Attempts: r.Attempts,
		Slots: r.Slots / 3600, CPU: r.CPU / 3600, Memory: r.Memory / 3600 / (1 << 30),
		Secondary: part(r.Secondary), Preempted: part(r.Preempted), Killed: part(r.Killed), Failed: part(r.Failed),
		Charged: r.Charged / 3600,
	}
	if slices.Contains(by, store.ByDay) {
		row.Day = api.DayOf(r.Day)
	}
	for n, name := range facts.TagNames {
		if slices.Contains(by, name) {
			if row.Tags == nil {
				row.Tags = map[string]string{}
			}
			row.Tags[name] = r.Tags[n]
		}
	}
	if slices.Contains(by, store.ByAccount) {
		row.Account = &r.Account
	}
	return row
}
