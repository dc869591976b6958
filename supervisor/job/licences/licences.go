package licences

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"qb/supervisor/job/facts"
)

// Policy is what the site has configured beside the counts.
type Policy struct {
	Fresh   time.Duration // age up to which a report is taken for current; 0: any
	Wait    time.Duration // for which a resource stays lowered at first
	PerUser []string      // of the resources counted per host the ones that are counted per user and host
	Hosts   []string      // whose workers may report
	Signs   []Sign        // by which items say that they found none
}

// Sign is how a failed item says that it found none of a resource: by a line of its output, or an exit code.
type Sign struct {
	Resource string
	Pattern  string // of RE2; "": none
	Exits    []int
}

// Report is what is said of a resource. What is nil stays as it was.
type Report struct {
	Name    string
	Total   *int64 // there are in all, inside and outside of the farm
	Outside *int64 // that others than the farm use
	Forget  bool   // all that was reported, and what items have found
}

// Status is a resource as a listing shows it.
type Status struct {
	Name         string
	Counted      string // instance, host or user-host
	Has          int64  // that the farm may use by the configuration
	Total        int64  // there are; negative: not reported
	Outside      int64
	Held         int64 // by the farm
	Allowed      int64 // that the farm may hold now
	By           string
	ReportedAt   time.Time // zero: nothing was reported
	Stale        bool      // the report is older than the policy's Fresh
	Lowered      int64     // by items that found none; negative: it is not
	LoweredUntil time.Time
}

// Free is how many more the farm may take.
func (s Status) Free() int64 { return max(0, s.Allowed-s.Held) }

// Limits says why the farm may hold fewer than the configuration has; "" if it may hold all.
func (s Status) Limits() string {
	var parts []string
	if s.Allowed < s.Has {
		parts = append(parts, fmt.Sprintf("of %d", s.Has))
	}
	if s.Outside > 0 {
		parts = append(parts, fmt.Sprintf("%d used outside of the farm", s.Outside))
	}
	if s.Total >= 0 && s.Total < s.Has {
		parts = append(parts, fmt.Sprintf("%d exist", s.Total))
	}
	if s.Lowered >= 0 {
		parts = append(parts, "lowered, as items found none")
	}
	if s.Stale && len(parts) > 0 {
		parts = append(parts, "reported long ago")
	}
	return strings.Join(parts, ", ")
}

// Book is all that is known of resources.
type Book struct {
	policy  Policy
	has     map[string]int64 // by the configuration
	rows    map[string]*facts.ResourceFacts
	changed map[string]bool
}

// New is a book with what the rows say.
func New(rows []facts.ResourceFacts) *Book {
	b := &Book{rows: map[string]*facts.ResourceFacts{}, changed: map[string]bool{}}
	for _, row := range rows {
		b.rows[row.Name] = &row
	}
	return b
}

// Configure takes in the configuration.
func (b *Book) Configure(p Policy, has map[string]int64) { b.policy, b.has = p, has }

// Has is how many the farm may use by the configuration.
func (b *Book) Has() map[string]int64 { return b.has }

// Policy is the one in force.
func (b *Book) Policy() Policy { return b.policy }

// Known says whether the configuration has the resource.
func (b *Book) Known(name string) bool {
	_, known := b.has[name]
	return known
}

// Allowed is how many of each resource the farm may hold now. The caller may keep it.
func (b *Book) Allowed() map[string]int64 {
	all := make(map[string]int64, len(b.has))
	for name := range b.has {
		all[name] = b.allowed(name)
	}
	return all
}

func (b *Book) allowed(name string) int64 {
	most := b.unlowered(name)
	if row := b.rows[name]; row != nil && row.Lowered >= 0 {
		most = min(most, row.Lowered)
	}
	return most
}

// unlowered is how many the farm could hold if no item had found none.
func (b *Book) unlowered(name string) int64 {
	has, row := b.has[name], b.rows[name]
	switch {
	case row == nil:
		return has
	case row.Total >= 0:
		return max(0, min(has, row.Total-row.Outside))
	}
	return max(0, has-row.Outside)
}

// row is the resource's, made if it is not there.
func (b *Book) row(name string) *facts.ResourceFacts {
	row := b.rows[name]
	if row == nil {
		row = &facts.ResourceFacts{Name: name, Total: -1, Lowered: -1}
		b.rows[name] = row
	}
	b.changed[name] = true
	return row
}

// Take takes in a report on a resource that is known, and says whether it says anything new.
func (b *Book) Take(now time.Time, r Report, by string) (news bool) {
	row := b.row(r.Name)
	before := *row
	if r.Forget {
		*row = facts.ResourceFacts{Name: r.Name, Total: -1, Lowered: -1, By: by}
		return before != *row
	}
	if r.Total != nil {
		row.Total = max(0, *r.Total)
	}
	if r.Outside != nil {
		row.Outside = max(0, *r.Outside)
	}
	row.By, row.ReportedAt = by, facts.RowTime(now)
	return before.Total != row.Total || before.Outside != row.Outside || before.ReportedAt.IsZero()
}

// Unwritten says whether there is anything that Changed would write.
func (b *Book) Unwritten() bool { return len(b.changed) > 0 }

// Changed has the rows written that have changed since the last call.
func (b *Book) Changed(write func(facts.Write)) {
	for _, name := range slices.Sorted(maps.Keys(b.changed)) {
		write(facts.PutResource{Resource: *b.rows[name]})
	}
	clear(b.changed)
}

// List is all resources of the configuration by name, with what the farm holds of each.
func (b *Book) List(now time.Time, held map[string]int64) []Status {
	list := make([]Status, 0, len(b.has))
	for _, name := range slices.Sorted(maps.Keys(b.has)) {
		list = append(list, b.Status(now, name, held[name]))
	}
	return list
}

// Status is one resource, of which the farm holds so much.
func (b *Book) Status(now time.Time, name string, held int64) Status {
	s := Status{Name: name, Counted: b.policy.Counted(name), Has: b.has[name], Total: -1, Lowered: -1, Held: held,
		Allowed: b.allowed(name)}
	row := b.rows[name]
	if row == nil {
		return s
	}
	s.Total = row.Total
	s.Outside = row.Outside
	s.By = row.By
	s.ReportedAt = row.ReportedAt
	s.Stale = b.policy.Fresh > 0 && !row.ReportedAt.IsZero() && now.Sub(row.ReportedAt) > b.policy.Fresh
	if row.Lowered >= 0 && row.Lowered < b.unlowered(name) {
		s.Lowered, s.LoweredUntil = row.Lowered, row.LoweredUntil
	}
	return s
}
