package postgres

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"qb/supervisor/job/facts"
	"qb/supervisor/store/rules"
)

// jobRow is a row of job. Its JSON goes to Postgres as a record, for arrays of arrays cannot be unnested.
type jobRow struct {
	facts.JobFacts
	Submission *string           `db:"submission,fixed" json:"submission"`
	FinishedAt *time.Time        `db:"finished_at" json:"finished_at"`
	Tags       map[string]string `db:"tags" json:"tags"`

	Bytes    int64 `db:"-" json:"bytes"`    // what it takes; only Stored reads it
	Expected int64 `db:"-" json:"expected"` // the version that the row must have; 0: none
}

func jobToRow(j facts.JobFacts) jobRow {
	row := jobRow{
		JobFacts: j, Submission: unless(j.Submission, ""), FinishedAt: unless(j.FinishedAt, time.Time{}), Tags: j.Tags.Map(),
		Bytes: j.Stored(),
	}
	row.WaitFor = orEmpty(j.WaitFor)
	for i := range facts.Attributes {
		switch v := facts.Attributes[i].Value(&row.JobFacts).(type) {
		case *[]string:
			*v = orEmpty(*v)
		case *map[string]string:
			*v = orEmptyMap(*v)
		}
	}
	return row
}

func scanJob(row pgx.CollectableRow) (facts.JobFacts, error) {
	r, err := pgx.RowToStructByName[jobRow](row)
	j := &r.JobFacts
	j.Submission, j.FinishedAt = orZero(r.Submission), orZero(r.FinishedAt)
	j.Tags, _ = facts.TagsOf(r.Tags) // a later release may know more names
	rules.NormaliseJob(j)
	return *j, err
}

// hostToRow is the host with lists that are not null.
func hostToRow(h facts.HostFacts) facts.HostFacts {
	h.Groups = orEmpty(h.Groups)
	h.Properties = orEmptyMap(h.Properties)
	h.Resources = orEmptyMap(h.Resources)
	return h
}

func scanHost(row pgx.CollectableRow) (facts.HostFacts, error) {
	h, err := pgx.RowToStructByName[facts.HostFacts](row)
	return rules.NormalHost(h), err
}

// markRow is a row of item_mark.
type markRow struct {
	Job facts.JobID
	facts.Mark
}

// attemptScanner reads rows of attempt in the order of attemptColumns. Names repeat from row to row and are kept
// once, for a rebuild may read a million of them.
type attemptScanner struct {
	a                         facts.AttemptFacts
	item, number              int32
	host, boot, stateID       interned
	owner, kind, state, cause interned
	reason                    interned
	params                    *facts.Params
	exitCode, signal          pgtype.Int8
	startedAt, endedAt        pgtype.Timestamptz
	suspendedAt               pgtype.Timestamptz
	releasedAt, resumingAt    pgtype.Timestamptz
	holds                     *held
	behindItem, behindNumber  pgtype.Int4
	charge                    [4]pgtype.Float8
	targets                   []any
}

func newAttemptScanner() *attemptScanner {
	names := map[string]string{}
	s := &attemptScanner{}
	for _, n := range []*interned{&s.host, &s.boot, &s.stateID, &s.owner, &s.kind, &s.state, &s.cause, &s.reason} {
		n.names = names
	}
	s.targets = []any{&s.a.Job, &s.item, &s.number, &s.host, &s.boot, &s.stateID, &s.a.Instance, &s.kind, &s.owner,
		&s.a.Slots, &s.a.Memory, &s.state, (*uint8)(&s.a.Again), &s.reason, &s.params, &s.cause, &s.exitCode, &s.signal,
		&s.a.Wall, &s.a.CPU, &s.a.Peak,
		&s.startedAt, &s.endedAt, &s.holds, &s.charge[0], &s.charge[1], &s.charge[2], &s.charge[3], &s.a.Charged,
		&s.suspendedAt, &s.a.Suspended,
		&s.releasedAt, &s.a.Released, &s.resumingAt, &s.behindItem, &s.behindNumber}
	return s
}

func (s *attemptScanner) scan(rows pgx.CollectableRow) (facts.AttemptFacts, error) {
	s.holds, s.params = nil, nil
	if err := rows.Scan(s.targets...); err != nil {
		return facts.AttemptFacts{}, err
	}
	a := s.a
	a.Item, a.Number = facts.ItemNo(s.item), int(s.number)
	a.Host = facts.HostID(s.host.value)
	a.Boot = s.boot.value
	a.StateID = s.stateID.value
	a.Owner = s.owner.value
	a.Kind = facts.ParseKind(s.kind.value)
	a.State = facts.AttemptState(s.state.value)
	a.Cause = s.cause.value
	a.Reason, a.Params = facts.Reason(s.reason.value), orZero(s.params)
	a.ExitCode, a.Signal = intOf(s.exitCode), intOf(s.signal)
	a.BehindItem, a.BehindNumber = facts.ItemNo(s.behindItem.Int32), int(s.behindNumber.Int32)
	a.StartedAt, a.Charge = rules.Exact(s.startedAt.Time), chargeOf(s.charge)
	if s.suspendedAt.Valid {
		a.SuspendedAt = rules.Exact(s.suspendedAt.Time)
	}
	if s.releasedAt.Valid {
		a.ReleasedAt = rules.Exact(s.releasedAt.Time)
	}
	if s.resumingAt.Valid {
		a.ResumingAt = rules.Exact(s.resumingAt.Time)
	}
	if s.endedAt.Valid {
		a.EndedAt = rules.Exact(s.endedAt.Time)
	}
	if s.holds != nil {
		a.Holds, a.Devices = s.holds.Resources, s.holds.Devices
	}
	return a, nil
}

// shortRow is a row of sqlLoadInShort.
type shortRow struct {
	job       facts.JobID
	number    int32
	startedAt pgtype.Timestamptz
	items     []int32
	wall      []float64
	peak      []int64
	others    []pgtype.TID // of attempts that are not in short form
}

func (r *shortRow) scan(rows pgx.Rows) error {
	*r = shortRow{} // the lists before are kept
	return rows.Scan((*int64)(&r.job), &r.number, &r.startedAt, &r.items, &r.wall, &r.peak, &r.others)
}

func (r *shortRow) facts() facts.DoneFacts {
	items := make([]facts.ItemNo, len(r.items))
	for n, item := range r.items {
		items[n] = facts.ItemNo(item)
	}
	return facts.DoneFacts{Number: int(r.number), StartedAt: rules.Exact(r.startedAt.Time), Items: items, Wall: r.wall,
		Peak: r.peak}
}

// held is what an attempt holds beside slots and memory.
type held struct {
	Resources map[string]int64 `json:"resources,omitempty"`
	Devices   []int            `json:"devices,omitempty"`
}

func holdsToText(a facts.AttemptFacts) *string {
	if len(a.Holds)+len(a.Devices) == 0 {
		return nil
	}
	return toText(held{a.Holds, a.Devices})
}

// paramsToText is nil where a reason has no parameters.
func paramsToText(p facts.Params) *string {
	if p == (facts.Params{}) {
		return nil
	}
	return toText(p)
}

// toText writes texts and finite numbers as JSON, which never fails.
func toText(v any) *string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return new(string(text))
}

// interned is a text column whose values are shared.
type interned struct {
	names map[string]string
	value string
}

// maxInterned bounds the table; causes may differ in every row.
const maxInterned = 10_000

// ScanBytes takes a column's value.
func (n *interned) ScanBytes(b []byte) error {
	value, known := n.names[string(b)]
	if !known {
		value = string(b)
		if len(n.names) < maxInterned {
			n.names[value] = value
		}
	}
	n.value = value
	return nil
}

func intOf(n pgtype.Int8) *int {
	if !n.Valid {
		return nil
	}
	v := int(n.Int64)
	return &v
}

func int64Of(n *int) *int64 {
	if n == nil {
		return nil
	}
	return new(int64(*n))
}

// unless returns nil if v equals none.
func unless[T comparable](v, none T) *T {
	if v == none {
		return nil
	}
	return &v
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return slices.Clip(list)
}

func orEmptyMap[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return maps.Clone(m)
}
