package message_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// Jobs get the flags of the site besides their own, except for those with no_defaults.
func TestJobFlags(t *testing.T) {
	t.Parallel()
	p := message.Policy{MaxPriority: 9, JobFlags: []string{facts.FlagConvertPath, facts.FlagMigrate}}
	own := []string{facts.FlagMigrate, facts.FlagElite}
	row, _ := p.WithDefaults(facts.JobFacts{Flags: own})
	if want := []string{facts.FlagMigrate, facts.FlagElite, facts.FlagConvertPath}; !slices.Equal(row.Flags, want) || len(own) != 2 {
		t.Errorf("%v, want %v", row.Flags, want)
	}
	if row, _ = p.WithDefaults(facts.JobFacts{Flags: []string{facts.FlagNoDefaults}}); len(row.Flags) != 1 {
		t.Errorf("no_defaults: %v", row.Flags)
	}
}

// The flag expand takes the limit off jobs that state none of their own.
func TestExpand(t *testing.T) {
	t.Parallel()
	p, own := message.Policy{MaxPriority: 9}, 3
	for _, c := range []struct {
		flags []string
		max   *int
		want  string
	}{{nil, nil, "-"}, {[]string{facts.FlagExpand}, nil, "-1"}, {[]string{facts.FlagExpand}, &own, "3"}} {
		row, _ := p.WithDefaults(facts.JobFacts{Flags: c.flags, MaxCPUs: c.max})
		got := "-"
		if row.MaxCPUs != nil {
			got = strconv.Itoa(*row.MaxCPUs)
		}
		if got != c.want {
			t.Errorf("%v with %v: max_cpus %s, want %s", c.flags, c.max, got, c.want)
		}
	}
}

// A negative width is no limit; a width that could be meant as a difference gets a remark, and nothing else does.
func TestTakeWidth(t *testing.T) {
	t.Parallel()
	p := message.Policy{MaxPriority: 9}
	p.Share.MaxCPUsLimit = 50
	for given := -1000; given <= 60; given++ {
		row, remarks := p.WithDefaults(facts.JobFacts{MaxCPUs: new(given), Priority: 1})
		if want := max(given, -1); *row.MaxCPUs != want || (len(remarks) == 0) != (given >= -1 && given <= 50) {
			t.Errorf("max_cpus %d is %d, %q", given, *row.MaxCPUs, remarks)
		}
		if given < -1 && !strings.HasPrefix(remarks[0], "max_cpus "+strconv.Itoa(given)+" is no limit, not ") {
			t.Errorf("max_cpus %d: %q", given, remarks)
		}
	}
	if row, remarks := p.WithDefaults(facts.JobFacts{Priority: 1}); row.MaxCPUs != nil || len(remarks) > 0 {
		t.Errorf("no max_cpus is %v, %q", row.MaxCPUs, remarks)
	}
}
