package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/facts"
)

// What a report may be divided by.
const (
	ByDay     = "day"
	ByUser    = "user"
	ByAccount = "account"
	ByCluster = "cluster" // of the job
	ByHost    = "host"
	ByKind    = "kind"
	ByClass   = "class" // of the host, by what its row says of it now
)

// Groupings are all of them, in the order of a report; the last are the tags of jobs.
var Groupings = append([]string{ByDay, ByUser, ByAccount, ByCluster, ByHost, ByKind, ByClass}, facts.TagNames[:]...)

// StatsQuery selects ended attempts by the day of their end.
type StatsQuery struct {
	From, To time.Time // UTC days; To is the first day that is left out
	By       []string
	User     string     // "": all
	Account  string     // with what lies below it; "": all
	Cluster  string     // likewise
	Host     string     // "": all
	Tags     facts.Tags // "": all
	Limit    int        // rows; 0 or more than MaxPage: MaxPage
}

// StatsRow is a line of a report; what it is not divided by is zero. Failed is what gave no result otherwise than by
// preemption. All but Charged is in seconds, times slots or bytes held.
type StatsRow struct {
	Day                                time.Time
	User, Account, Cluster, Host, Kind string
	Tags                               facts.Tags
	Class                              string
	Attempts                           int64
	Slots, CPU, Memory                 float64
	Secondary, Preempted, Failed       float64 // of Slots
	Charged                            float64 // CPU-equivalent seconds that owners paid
}

// classOf tells hosts apart by what they have: slots, memory in whole GiB, GPUs, and speed where it is not the
// reference's. Hosts bought together are one class, whatever they are called.
func classOf(h facts.HostFacts) string {
	class := fmt.Sprintf("%d slots, %d GB", h.Slots, (h.Memory+1<<29)>>30)
	if h.Slots == 1 {
		class = strings.Replace(class, "slots", "slot", 1)
	}
	if n := h.Resources["gpus"]; n > 0 {
		class += fmt.Sprintf(", %d GPUs", n)
	}
	if h.Spec > 0 && h.Spec != 1 {
		class += fmt.Sprintf(", spec %v", h.Spec)
	}
	return class
}

// Stats reports what ended attempts used, by day, user, account, cluster, host and kind as far as asked for. It
// answers the same before and after attempts are compacted.
func (p *Postgres) Stats(ctx context.Context, q StatsQuery) ([]StatsRow, error) {
	if q.By == nil {
		q.By = []string{}
	}
	tags := q.tags()
	for n := range q.Tags {
		q.Tags[n] = clean(q.Tags[n])
	}
	hosts, classes, err := p.classes(ctx, q)
	if err != nil {
		return nil, err
	}
	list, err := readRows(ctx, p.pool, scanStats(tags), sqlStats, q.From, q.To, q.By, clean(q.User), clean(q.Account), clean(q.Cluster),
		clean(q.Host), pageOf(q.Limit), tags, q.Tags.Map(), hosts, classes)
	if err != nil {
		return nil, fmt.Errorf("summing up attempts: %w", err)
	}
	return list, nil
}

// classes are the hosts with their classes, if the report is divided by them.
func (p *Postgres) classes(ctx context.Context, q StatsQuery) (hosts, classes []string, err error) {
	hosts, classes = []string{}, []string{}
	if !slices.Contains(q.By, ByClass) {
		return hosts, classes, nil
	}
	rows, err := queryAll[hostRow](ctx, p.pool, sqlLoadHosts)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the classes of hosts: %w", err)
	}
	for _, h := range rows {
		hosts, classes = append(hosts, string(h.ID)), append(classes, classOf(h.facts()))
	}
	return hosts, classes, nil
}

// tags are those that the report is divided by, in their own order.
func (q StatsQuery) tags() []string {
	names := []string{}
	for _, name := range facts.TagNames {
		if slices.Contains(q.By, name) {
			names = append(names, name)
		}
	}
	return names
}

// scanStats reads a row whose values of these tags are an array.
func scanStats(tags []string) pgx.RowToFunc[StatsRow] {
	return func(row pgx.CollectableRow) (StatsRow, error) { return scanStatsRow(row, tags) }
}

func scanStatsRow(row pgx.CollectableRow, tags []string) (r StatsRow, err error) {
	var day *time.Time
	var tagged []string
	err = row.Scan(&day, &r.User, &r.Account, &r.Cluster, &r.Host, &r.Kind, &tagged, &r.Class, &r.Attempts, &r.Slots, &r.CPU, &r.Memory,
		&r.Secondary, &r.Preempted, &r.Failed, &r.Charged)
	if day != nil {
		r.Day = exact(*day)
	}
	for n, value := range tagged {
		r.Tags[slices.Index(facts.TagNames[:], tags[n])] = value
	}
	return r, err
}

// Stats reports what ended attempts used.
func (m *Memory) Stats(_ context.Context, q StatsQuery) ([]StatsRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var rows lastOf[StatsRow, StatsRow]
	enter := func(k dayKey, d daySums) {
		if !q.fits(k) {
			return
		}
		key := q.row(k)
		if h, known := m.hosts[facts.HostID(k.host)]; known && slices.Contains(q.By, ByClass) {
			key.Class = classOf(h)
		}
		r := key
		if at, known := rows.place[key]; known {
			r = rows.list[at]
		}
		rows.put(key, r.plus(k, d))
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
	slices.SortFunc(rows.list, func(a, b StatsRow) int {
		return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(a.User, b.User), cmp.Compare(a.Account, b.Account),
			cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Kind, b.Kind),
			slices.Compare(a.Tags[:], b.Tags[:]), cmp.Compare(a.Class, b.Class))
	})
	return rows.list[:min(len(rows.list), pageOf(q.Limit))], nil
}

func (q StatsQuery) fits(k dayKey) bool {
	below := func(path, top string) bool {
		return top == "" || path == top || strings.HasPrefix(path, strings.TrimRight(top, "/")+"/")
	}
	return !k.day.Before(q.From) && k.day.Before(q.To) && (q.User == "" || q.User == k.owner) && below(k.account, q.Account) &&
		below(k.cluster, q.Cluster) && (q.Host == "" || q.Host == k.host) && q.tagged(k.tags)
}

func (q StatsQuery) tagged(tags facts.Tags) bool {
	for n, want := range q.Tags {
		if want != "" && want != tags[n] {
			return false
		}
	}
	return true
}

// row is the line to which the key's work belongs.
func (q StatsQuery) row(k dayKey) (r StatsRow) {
	for _, by := range q.By {
		switch by {
		case ByDay:
			r.Day = k.day
		case ByUser:
			r.User = k.owner
		case ByAccount:
			r.Account = k.account
		case ByCluster:
			r.Cluster = k.cluster
		case ByHost:
			r.Host = k.host
		case ByKind:
			r.Kind = k.kind
		case ByClass: // the hosts' rows say
		default:
			n := slices.Index(facts.TagNames[:], by)
			r.Tags[n] = k.tags[n]
		}
	}
	return r
}

func (r StatsRow) plus(k dayKey, d daySums) StatsRow {
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
