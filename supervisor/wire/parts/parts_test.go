package parts_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"qb/agenda"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/parts"
)

func of(t *testing.T, row facts.JobFacts, site parts.Site) ([]facts.JobFacts, error) {
	t.Helper()
	rows, _, err := parts.Of(row, func() (*agenda.Agenda, error) { return agenda.Parse(row.Agenda, 0) }, site)
	return rows, err
}

func TestPreview(t *testing.T) {
	t.Parallel()
	row := facts.JobFacts{Submission: "ann:k", Label: "beauty", PAgenda: "5,9", Priority: 50, CPUs: 4,
		Agenda: agenda.Spec{Range: "1-10"}}
	rows, err := of(t, row, parts.Site{Priority: 3, Most: -1})
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	first, rest := rows[0], rows[1]
	if first.Agenda.Range != "5,9" || first.Priority != 3 || first.CPUs != 2 || *first.MaxCPUs != 0 ||
		first.Label != "beauty" || !first.Part() || first.Submission == rest.Submission {
		t.Errorf("first: %+v", first)
	}
	if rest.Agenda.Range != "1-4,6-8,10" || rest.Priority != 50 || rest.CPUs != 4 || rest.MaxCPUs != nil ||
		rest.Label != "beauty" || rest.Submission != "ann:k" || rest.Part() || len(rest.Before()) != 1 {
		t.Errorf("rest: %+v", rest)
	}
	row.PAgendaPriority, row.PAgendaCPUs = 7, 1
	if rows, err = of(t, row, parts.Site{Priority: 3, Most: 2}); err != nil || rows[0].Priority != 7 || rows[0].CPUs != 1 {
		t.Errorf("%+v, %v", rows, err)
	}
	row.PAgenda, row.Flags, row.Agenda.Range = "", []string{facts.FlagPAgenda}, "1-2"
	if rows, err = of(t, row, parts.Site{Priority: 3, Most: 2}); err != nil || len(rows) != 1 ||
		rows[0].Label != "beauty" || rows[0].Submission != "ann:k" {
		t.Errorf("nothing is left: %+v, %v", rows, err)
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	rows, err := of(t, facts.JobFacts{Submission: "ann:k", Hosts: []string{"b", "a", "b"}, CPUs: 9,
		Flags: []string{facts.FlagHostList}}, parts.Site{})
	if err != nil || len(rows) != 2 || !slices.Equal(rows[0].Hosts, []string{"a"}) ||
		!slices.Equal(rows[1].Hosts, []string{"b"}) || rows[1].CPUs != 1 || rows[1].Submission != "ann:k" ||
		rows[0].Submission == "ann:k" {
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

// TestWhole: what a submission asked for is found again in the row of its last job, whatever became of the range and of
// the hosts; that of any other job is the job alone.
func TestWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		row := facts.JobFacts{Submission: "ann:k", Priority: 50, CPUs: 1, Label: "beauty",
			Hosts: []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(rt, "hosts")]}
		items := rapid.IntRange(1, 12).Draw(rt, "items")
		if rapid.Bool().Draw(rt, "previews") {
			row.Agenda = agenda.Spec{Range: fmt.Sprintf("1-%d", items),
				Order:   rapid.SampledFrom([]agenda.Order{agenda.Ascend, agenda.Reverse, agenda.Binary}).Draw(rt, "order"),
				Padding: rapid.IntRange(0, 4).Draw(rt, "padding")}
			switch rapid.IntRange(0, 2).Draw(rt, "items of") {
			case 1:
				row.Agenda.Partitions = rapid.IntRange(1, items).Draw(rt, "partitions")
			case 2:
				row.Agenda.Chunk = rapid.IntRange(1, items).Draw(rt, "chunk")
			}
			row.Flags, row.PAgendaPriority, row.PAgendaCPUs = []string{facts.FlagPAgenda},
				rapid.IntRange(0, 9).Draw(rt, "priority"), rapid.IntRange(0, 9).Draw(rt, "cpus")
		} else {
			row.Flags = []string{facts.FlagHostList}
		}
		rows, _, err := parts.Of(row, func() (*agenda.Agenda, error) {
			return agenda.Parse(row.Agenda, 0)
		}, parts.Site{Priority: 3, Most: -1})
		if err != nil {
			rt.Fatal(err)
		}
		last := len(rows) - 1
		for n, made := range rows {
			made.Submission = row.Submission
			whole := parts.Whole(made)
			want := row
			if n < last || last == 0 { // nothing more is divided
				want = made
				want.Flags = slices.DeleteFunc(slices.Clone(want.Flags), func(flag string) bool {
					return flag == facts.FlagPAgenda
				})
				want.PAgendaPriority, want.PAgendaCPUs = 0, 0
			}
			want.Division = whole.Division
			if len(want.Flags) == 0 && len(whole.Flags) == 0 {
				want.Flags = whole.Flags
			}
			if !reflect.DeepEqual(whole, want) {
				rt.Fatalf("job %d of %d: %+v\nis the submission\n%+v\nnot\n%+v", n, len(rows), made, whole, want)
			}
		}
	})
}
