package fit

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"qb/supervisor/facts"
)

// CaseRemarks warn of names of hosts and groups in a job that nothing is called, while something is but for capital letters:
// names are compared letter by letter, so that a host is not chosen, or not left out.
func CaseRemarks(hosts iter.Seq[*Host], j *facts.JobFacts) (remarks []string) {
	names, groups := alike{}, alike{}
	for h := range hosts {
		names.add(string(h.ID))
		for _, group := range h.Groups {
			groups.add(group)
		}
	}
	for _, list := range []struct {
		option, what string
		given        []string
		known        alike
	}{
		{"hosts", "host", j.Hosts, names}, {"omithosts", "host", j.OmitHosts, names},
		{"groups", "group", j.Groups, groups}, {"omitgroups", "group", j.OmitGroups, groups},
	} {
		for _, name := range list.given {
			if others := list.known[strings.ToLower(name)]; len(others) > 0 && !slices.Contains(others, name) {
				remarks = append(remarks, fmt.Sprintf("-%s: no %s is called %s; did you mean %s? capital letters count", list.option, list.what, name, slices.Min(others)))
			}
		}
	}
	return remarks
}

// alike are names by themselves in small letters.
type alike map[string][]string

func (a alike) add(name string) {
	key := strings.ToLower(name)
	if !slices.Contains(a[key], name) {
		a[key] = append(a[key], name)
	}
}
