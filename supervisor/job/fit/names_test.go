package fit_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// TestCaseRemarks: a name gets a remark exactly if no host is spelled so, and one differs in capital letters alone.
func TestCaseRemarks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := func(label string) []string {
			return rapid.SliceOfN(rapid.StringMatching("[aAbB]{1,2}"), 0, 4).Draw(rt, label)
		}
		known, groups := names("hosts"), names("groups")
		var hosts []*fit.Host
		for _, name := range known {
			hosts = append(hosts, &fit.Host{HostFacts: facts.HostFacts{ID: facts.HostID(name), Groups: groups}})
		}
		j := &facts.JobFacts{Hosts: names("in"), OmitHosts: names("out"), Groups: names("in groups"), OmitGroups: names("out groups")}
		var want []string
		for _, list := range []struct {
			option, what string
			given, known []string
		}{
			{"hosts", "host", j.Hosts, known}, {"omithosts", "host", j.OmitHosts, known}, {"groups", "group", j.Groups, groups}, {"omitgroups", "group", j.OmitGroups, groups},
		} {
			for _, name := range list.given {
				if (list.what == "host" || len(known) > 0) && !slices.Contains(list.known, name) && slices.ContainsFunc(list.known, func(other string) bool { return strings.EqualFold(other, name) }) {
					want = append(want, "-"+list.option+": no "+list.what+" is called "+name+"; did you mean ")
				}
			}
		}
		got := fit.CaseRemarks(slices.Values(hosts), j)
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			rt.Fatalf("%q, want %q", got, want)
		}
	})
}
