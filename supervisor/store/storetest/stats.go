package storetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"qb/supervisor/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// Stats reports what ended attempts used.
func (m *Memory) Stats(_ context.Context, q store.StatsQuery) ([]store.StatsRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := map[store.StatsRow]store.StatsRow{} // by the members that the report is divided by
	enter := func(k dayKey, d daySums) {
		if !fits(q, k) {
			return
		}
		class := ""
		if h, known := m.hosts[facts.HostID(k.host)]; known {
			class = rules.ClassOf(h)
		}
		key := rowOf(q, k, class)
		r, known := rows[key]
		if !known {
			r = key
		}
		rows[key] = plus(r, k, d)
	}
	for k, d := range m.history.days {
		enter(k, d)
	}
	for _, j := range m.jobs {
		for _, a := range j.all() {
			if !a.State.Live() {
				enter(asDay(j.facts, a))
			}
		}
	}
	list := slices.SortedFunc(maps.Values(rows), func(a, b store.StatsRow) int {
		return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(a.User, b.User), cmp.Compare(a.Account, b.Account),
			cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Kind, b.Kind),
			slices.Compare(a.Tags[:], b.Tags[:]), cmp.Compare(a.Class, b.Class))
	})
	return list[:min(len(list), rules.PageOf(q.Limit))], nil
}

func fits(q store.StatsQuery, k dayKey) bool {
	below := func(path, top string) bool {
		return top == "" || path == top || strings.HasPrefix(path, strings.TrimRight(top, "/")+"/")
	}
	return !k.day.Before(q.From) && k.day.Before(q.To) && (q.User == "" || q.User == k.owner) && below(k.account, q.Account) &&
		below(k.cluster, q.Cluster) && (q.Host == "" || q.Host == k.host) && k.tags.With(q.Tags.Map()) == k.tags
}

// rowOf is the line to which the key's work belongs.
func rowOf(q store.StatsQuery, k dayKey, class string) store.StatsRow {
	ifBy := func(by, value string) string {
		if slices.Contains(q.By, by) {
			return value
		}
		return ""
	}
	r := store.StatsRow{User: ifBy(store.ByUser, k.owner), Account: ifBy(store.ByAccount, k.account), Cluster: ifBy(store.ByCluster, k.cluster),
		Host: ifBy(store.ByHost, k.host), Kind: ifBy(store.ByKind, k.kind), Class: ifBy(store.ByClass, class)}
	if slices.Contains(q.By, store.ByDay) {
		r.Day = k.day
	}
	for n, name := range facts.TagNames {
		r.Tags[n] = ifBy(name, k.tags[n])
	}
	return r
}

func plus(r store.StatsRow, k dayKey, d daySums) store.StatsRow {
	r.Attempts += d.attempts
	r.Slots, r.CPU, r.Memory = r.Slots+d.slots, r.CPU+d.cpu, r.Memory+d.memory
	switch k.kind {
	case facts.Secondary.String():
		r.Secondary += d.slots
	case "preempted":
		r.Preempted += d.slots
	case "failed":
		r.Failed += d.slots
	}
	if k.charged {
		r.Charged += d.used.Total()
	}
	return r
}
