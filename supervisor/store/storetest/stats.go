package storetest

import (
	"cmp"
	"context"
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
	var rows rules.LastOf[store.StatsRow, store.StatsRow]
	enter := func(k dayKey, d daySums) {
		if !fits(q, k) {
			return
		}
		key := rowOf(q, k)
		if h, known := m.hosts[facts.HostID(k.host)]; known && slices.Contains(q.By, store.ByClass) {
			key.Class = rules.ClassOf(h)
		}
		r := key
		if old, known := rows.Get(key); known {
			r = old
		}
		rows.Put(key, plus(r, k, d))
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
	slices.SortFunc(rows.List, func(a, b store.StatsRow) int {
		return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(a.User, b.User), cmp.Compare(a.Account, b.Account),
			cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Kind, b.Kind),
			slices.Compare(a.Tags[:], b.Tags[:]), cmp.Compare(a.Class, b.Class))
	})
	return rows.List[:min(len(rows.List), rules.PageOf(q.Limit))], nil
}

func fits(q store.StatsQuery, k dayKey) bool {
	below := func(path, top string) bool {
		return top == "" || path == top || strings.HasPrefix(path, strings.TrimRight(top, "/")+"/")
	}
	return !k.day.Before(q.From) && k.day.Before(q.To) && (q.User == "" || q.User == k.owner) && below(k.account, q.Account) &&
		below(k.cluster, q.Cluster) && (q.Host == "" || q.Host == k.host) && tagged(q, k.tags)
}

// row is the line to which the key's work belongs.
func rowOf(q store.StatsQuery, k dayKey) (r store.StatsRow) {
	for _, by := range q.By {
		switch by {
		case store.ByDay:
			r.Day = k.day
		case store.ByUser:
			r.User = k.owner
		case store.ByAccount:
			r.Account = k.account
		case store.ByCluster:
			r.Cluster = k.cluster
		case store.ByHost:
			r.Host = k.host
		case store.ByKind:
			r.Kind = k.kind
		case store.ByClass: // the hosts' rows say
		default:
			n := slices.Index(facts.TagNames[:], by)
			r.Tags[n] = k.tags[n]
		}
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

func tagged(q store.StatsQuery, tags facts.Tags) bool {
	for n, want := range q.Tags {
		if want != "" && want != tags[n] {
			return false
		}
	}
	return true
}
