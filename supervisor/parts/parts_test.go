package parts_test

import (
	"errors"
	"slices"
	"testing"

	"qb/agenda"
	"qb/supervisor/facts"
	"qb/supervisor/parts"
)

func of(t *testing.T, row facts.JobFacts, site parts.Site) ([]facts.JobFacts, error) {
	t.Helper()
	return parts.Of(row, func() (*agenda.Agenda, error) { return agenda.Parse(row.Agenda, 0) }, site)
}

func TestPreview(t *testing.T) {
	t.Parallel()
	row := facts.JobFacts{Submission: "ann:k", Label: "beauty", PAgenda: "5,9", Priority: 50, CPUs: 4, Agenda: agenda.Spec{Range: "1-10"}}
	rows, err := of(t, row, parts.Site{Priority: 3, Most: -1})
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	first, rest := rows[0], rows[1]
	if first.Agenda.Range != "5,9" || first.Priority != 3 || first.CPUs != 2 || *first.MaxCPUs != 0 || first.Label != "" || first.Submission == rest.Submission {
		t.Errorf("first: %+v", first)
	}
	if rest.Agenda.Range != "1-4,6-8,10" || rest.Priority != 50 || rest.CPUs != 4 || rest.MaxCPUs != nil || rest.Label != "beauty" || rest.Submission != "ann:k" {
		t.Errorf("rest: %+v", rest)
	}
	row.PAgendaPriority, row.PAgendaCPUs = 7, 1
	if rows, err = of(t, row, parts.Site{Priority: 3, Most: 2}); err != nil || rows[0].Priority != 7 || rows[0].CPUs != 1 {
		t.Errorf("%+v, %v", rows, err)
	}
	row.PAgenda, row.Flags, row.Agenda.Range = "", []string{facts.FlagPAgenda}, "1-2"
	if rows, err = of(t, row, parts.Site{Priority: 3, Most: 2}); err != nil || len(rows) != 1 || rows[0].Label != "beauty" || rows[0].Submission != "ann:k" {
		t.Errorf("nothing is left: %+v, %v", rows, err)
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	rows, err := of(t, facts.JobFacts{Submission: "ann:k", Hosts: []string{"b", "a", "b"}, CPUs: 9, Flags: []string{facts.FlagHostList}}, parts.Site{})
	if err != nil || len(rows) != 2 || !slices.Equal(rows[0].Hosts, []string{"a"}) || !slices.Equal(rows[1].Hosts, []string{"b"}) || rows[1].CPUs != 1 || rows[1].Submission != "ann:k" || rows[0].Submission == "ann:k" {
		t.Errorf("%+v, %v", rows, err)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	lots := make([]string, parts.MaxHosts+1)
	for member, row := range map[string]facts.JobFacts{
		"p_agenda_priority": {PAgendaPriority: 1, Agenda: agenda.Spec{Range: "1"}},
		"p_agenda_cpus":     {PAgendaCPUs: 1},
		"hosts":             {Flags: []string{facts.FlagHostList}, Hosts: lots},
		"flags":             {Flags: []string{facts.FlagHostList}},
		"p_agenda":          {PAgenda: "1-3", Agenda: agenda.Spec{Range: "1-9"}},
	} {
		_, err := of(t, row, parts.Site{Most: 2})
		if fault := (*parts.Fault)(nil); !errors.As(err, &fault) || fault.Member != member {
			t.Errorf("%s: %v", member, err)
		}
	}
}
