package fit

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"qb/supervisor/job/facts"
)

// CaseRemarks warn of names in a job that differ from names of hosts and groups only in upper and lower case. The case
// of names counts, so such a name chooses no host, and excludes none.
func CaseRemarks(hosts iter.Seq[*Host], j *facts.JobFacts) (remarks []string) {
	if len(j.Hosts)+len(j.OmitHosts)+len(j.Groups)+len(j.OmitGroups) == 0 {
		return nil
	}
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
			others := list.known[strings.ToLower(name)]
			if len(others) == 0 || slices.Contains(others, name) {
				continue
			}
			remarks = append(remarks, fmt.Sprintf("-%s: no %s is called %s; did you mean %s? capital letters count",
				list.option, list.what, name, slices.Min(others)))
			if len(remarks) == mostRemarks {
				return remarks
			}
		}
	}
	return remarks
}

// mostRemarks of a kind are enough to show what is wrong: a list may have thousands of names.
const mostRemarks = 8

// alike has names by what they are in small letters.
type alike map[string][]string

func (a alike) add(name string) {
	key := strings.ToLower(name)
	if !slices.Contains(a[key], name) {
		a[key] = append(a[key], name)
	}
}
