package fit

import (
	"iter"
	"slices"
	"strings"

	"qb/internal/units"
	"qb/supervisor/job/facts"
)

// Unknown says that of the hosts, or of the groups, that a job asks for, the farm has none: probably a name was
// mistyped. "" if it has one of each.
func Unknown(j *facts.JobFacts, hosts iter.Seq[*Host]) string {
	var named, grouped bool
	for h := range hosts {
		named = named || slices.Contains(j.Hosts, string(h.ID))
		grouped = grouped || slices.ContainsFunc(h.Groups, func(g string) bool { return slices.Contains(j.Groups, g) })
	}
	var parts []string
	if len(j.Hosts) > 0 && !named {
		parts = append(parts, "no host is called "+units.Few(j.Hosts))
	}
	if len(j.Groups) > 0 && !grouped {
		parts = append(parts, "no host is in the group "+units.Few(j.Groups))
	}
	return strings.Join(parts, ", and ")
}
