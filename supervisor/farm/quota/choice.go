package quota

import (
	"fmt"
	"hash/fnv"
	"strings"

	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// Choice is by what a job chooses its hosts. Jobs of one choice are looked at together, so that a plan or a view asks
// each host as often as there are choices.
type Choice struct {
	key   uint64
	names int // of hosts and groups, patterns, and properties compared; 0: it takes any host
}

// choiceOf is the job's choice as its texts are now.
func choiceOf(row *facts.JobFacts, n *fit.Needs) Choice {
	c := Choice{names: len(row.Hosts) + len(row.OmitHosts) + len(row.Groups) + len(row.OmitGroups)}
	if row.Requirements != "" {
		c.names += len(n.Required.Properties())
	}
	if row.Restrictions != "" {
		c.names += strings.Count(row.Restrictions, "||") + 1
	}
	if c.names == 0 {
		return c
	}
	own := facts.JobID(0)
	if n.LooksAtJob() {
		own = row.ID
	}
	h := fnv.New64a()
	fmt.Fprint(h, own, row.Hosts, row.OmitHosts, row.Groups, row.OmitGroups, "\x00", row.Requirements, "\x00",
		row.Restrictions)
	c.key = h.Sum64()
	return c
}

// choices counts the choices of hosts: for each owner and choice, how many unfinished jobs have it.
type choices map[string]map[uint64]int

// add counts a job's choice, and returns how many names that adds to what its owner's jobs have.
func (s choices) add(owner string, c Choice) int {
	if c.names == 0 {
		return 0
	}
	if s[owner] == nil {
		s[owner] = map[uint64]int{}
	}
	if s[owner][c.key]++; s[owner][c.key] > 1 {
		return 0
	}
	return c.names
}

// remove is the opposite of add.
func (s choices) remove(owner string, c Choice) int {
	if c.names == 0 {
		return 0
	}
	if s[owner][c.key]--; s[owner][c.key] > 0 {
		return 0
	}
	if delete(s[owner], c.key); len(s[owner]) == 0 {
		delete(s, owner)
	}
	return c.names
}

// more is how many names the owner's jobs would have more with a choice in the place of another.
func (s choices) more(owner string, with, without Choice) int {
	if with == without || with.names == 0 || s[owner][with.key] > 0 {
		return 0
	}
	if s[owner][without.key] == 1 {
		return with.names - without.names
	}
	return with.names
}
