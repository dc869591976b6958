package parts

import (
	"cmp"
	"fmt"
	"slices"

	"qb/agenda"
	"qb/supervisor/facts"
)

// MaxHosts is the most jobs that host_list makes of one submission.
const MaxHosts = 200

// Site is what a site has set for preview items.
type Site struct {
	Priority int // of jobs that name none
	Most     int // items; negative: any number
}

// Fault is what is wrong with a member of a submission.
type Fault struct{ Member, Text string }

func (f *Fault) Error() string { return f.Text }

func fault(member, format string, args ...any) error {
	return &Fault{member, fmt.Sprintf(format, args...)}
}

func previews(row *facts.JobFacts) bool {
	return row.PAgenda != "" || slices.Contains(row.Flags, facts.FlagPAgenda)
}

// check refuses members that mean nothing without others.
func check(row *facts.JobFacts) error {
	switch hosts := slices.Contains(row.Flags, facts.FlagHostList); {
	case !previews(row) && row.PAgendaPriority != 0:
		return fault("p_agenda_priority", "give p_agenda, the items that are to be seen first, or the flag p_agenda")
	case !previews(row) && row.PAgendaCPUs != 0:
		return fault("p_agenda_cpus", "give p_agenda, the items that are to be seen first, or the flag p_agenda")
	case previews(row) && row.Agenda.Range == "":
		return fault("p_agenda", "the job has no range; give one such as 1-100, or leave p_agenda out")
	case hosts && row.Agenda.Range != "":
		return fault("flags", "host_list runs the command once on each host; leave range out")
	case hosts && len(row.Hosts) == 0:
		return fault("flags", "host_list runs the command on each of the job's hosts; name them in hosts")
	case hosts && len(row.Hosts) > MaxHosts:
		return fault("hosts", "%d hosts; host_list takes at most %d", len(row.Hosts), MaxHosts)
	}
	return nil
}

// Of makes the jobs of a submission. The last is the one that the submission is answered with. The agenda is read if it is needed.
func Of(row facts.JobFacts, read func() (*agenda.Agenda, error), site Site) ([]facts.JobFacts, error) {
	if err := check(&row); err != nil {
		return nil, err
	}
	switch {
	case previews(&row):
		a, err := read()
		if err != nil {
			return nil, err
		}
		return preview(row, a, site)
	case slices.Contains(row.Flags, facts.FlagHostList):
		return onHosts(row), nil
	}
	return []facts.JobFacts{row}, nil
}

// preview is the job of the preview items and that of the others, which is left out if there is none.
func preview(row facts.JobFacts, a *agenda.Agenda, site Site) ([]facts.JobFacts, error) {
	first, rest := row, row
	var err error
	if first.Agenda, rest.Agenda, err = a.Preview(row.Agenda, row.PAgenda); err != nil {
		return nil, fault("p_agenda", "%v", err)
	}
	items, err := agenda.Parse(first.Agenda, 0)
	if err != nil {
		return nil, fault("p_agenda", "%v", err)
	}
	if site.Most >= 0 && items.Len() > site.Most {
		return nil, fault("p_agenda", "%d items are more than supervisor_p_agenda_max = %d; name fewer", items.Len(), site.Most)
	}
	none := 0
	first.Priority, first.CPUs, first.MaxCPUs = cmp.Or(row.PAgendaPriority, site.Priority), cmp.Or(row.PAgendaCPUs, items.Len()), &none
	if rest.Agenda.Range == "" {
		return []facts.JobFacts{first}, nil
	}
	first.Label = "" // a label names one job of its process group
	first.Submission += " preview"
	return []facts.JobFacts{first, rest}, nil
}

// onHosts is a job for each host.
func onHosts(row facts.JobFacts) (rows []facts.JobFacts) {
	hosts := slices.Compact(slices.Sorted(slices.Values(row.Hosts)))
	for n, host := range hosts {
		one := row
		one.Hosts, one.CPUs = []string{host}, 1
		if n < len(hosts)-1 {
			one.Label = ""
			one.Submission += " " + host
		}
		rows = append(rows, one)
	}
	return rows
}
