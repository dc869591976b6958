package agenda

import (
	"strings"
)

// Limits of requirements.
const (
	maxRequirement = 16 << 10 // bytes of text
	maxDepth       = 64       // of parentheses and nots
)

// Requirement is a condition on a host and a job, such as
//
//	host.os = linux and (host.memory > 4000 or "maya" in host.jobtypes) and not host.flag.remote
//
// and, or, not (or &&, ||, !) bind in this order, not most tightly of all; comparisons are = (==, eq),
// != (ne), < (lt), <= (le), > (gt), >= (ge), in and has: `x in host.groups` is `host.groups has x`, and
// text on the list's side is a comma list. A literal is a bare word or quoted. Memory, such as
// host.memory, is in MiB where no unit is given, as in Qube: host.memory > 4000 is host.memory > 4000MB.
//
// A side may be computed of numbers and sizes; from the tightest: mul div mod, add sub, << >>, &, xor, |, min max. All
// are written between their two operands, and & xor | << >> work on the bits of whole numbers. div does not round. A
// comparison with a computed side does not hold, != neither, if it divides by zero, passes 2^53 or has a part that is
// not set or no number.
//
// A property that a host does not have fails every comparison but !=. A Requirement does not change and
// may be used by many goroutines.
type Requirement struct {
	all  joined // by and; its parts are the clauses
	used []string
}

// ParseRequirement reads requirements; known are the properties that may be used. Blank text is a
// requirement that always holds. An error is a *SyntaxError.
func ParseRequirement(text string, known []Property) (*Requirement, error) {
	whole, err := parseText(requirements, text, known)
	if err != nil {
		return nil, err
	}
	r := &Requirement{all: joined{parts: []expression{whole}}}
	if and, ok := whole.(joined); ok && !and.any {
		r.all = and
	}
	whole.properties(func(name string) { r.used = append(r.used, name) })
	return r, nil
}

// Holds says whether the host and job behind lookup meet the requirement.
func (r *Requirement) Holds(lookup Lookup) bool { return r.all.holds(lookup) }

// Failure is a clause of the outermost and that does not hold.
type Failure struct {
	Clause int    // its place, from 0
	Text   string // as Clauses has it
	Actual string // what its properties are: host.os is linux, host.memory is 2GiB
}

// Failing is the clauses that do not hold, in order; none if the requirement holds.
func (r *Requirement) Failing(lookup Lookup) []Failure {
	var failures []Failure
	for i, clause := range r.all.parts {
		if !clause.holds(lookup) {
			failures = append(failures, Failure{i, clause.String(), actual(clause, lookup)})
		}
	}
	return failures
}

// Clauses is the text of each clause.
func (r *Requirement) Clauses() []string {
	texts := make([]string, len(r.all.parts))
	for i, clause := range r.all.parts {
		texts[i] = clause.String()
	}
	return texts
}

// Properties is the names used, in the order of the text; a name used twice is there twice.
func (r *Requirement) Properties() []string { return r.used }

// actual tells the values of the properties of a clause, each once.
func actual(clause expression, lookup Lookup) string {
	var facts []string
	seen := map[string]bool{}
	clause.properties(func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		value, ok := lookup(name)
		switch {
		case !ok:
			facts = append(facts, name+" is not set")
		case value.String() == "":
			facts = append(facts, name+" is empty")
		default:
			facts = append(facts, name+" is "+value.String())
		}
	})
	return strings.Join(facts, ", ")
}
