package parts

import (
	"cmp"
	"fmt"
	"slices"

	"qb/agenda"
	"qb/internal/units"
	"qb/supervisor/job/facts"
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
	case row.JobType == "cmdline" && row.Agenda.Range != "":
		return fault("type", "a job of type cmdline has no range; leave type out, or range")
	case row.JobType == "cmdrange" && row.Agenda.Range == "":
		return fault("type", "a job of type cmdrange has a range; give one such as 1-100, or leave type out")
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

// Of makes the jobs of a submission. The submission is answered with the last one, whose division has a place for the
// id of each of the others. Read is called if the agenda is needed.
func Of(row facts.JobFacts,
	read func() (*agenda.Agenda, error), site Site) (rows []facts.JobFacts, remarks []string, err error) {
	if err := check(&row); err != nil {
		return nil, nil, err
	}
	switch {
	case previews(&row):
		a, err := read()
		if err != nil {
			return nil, nil, err
		}
		return preview(row, a, site)
	case slices.Contains(row.Flags, facts.FlagHostList):
		return onHosts(row), nil, nil
	}
	return []facts.JobFacts{row}, nil, nil
}

// preview is the job of the preview items and that of the others, which is left out if there is none.
func preview(row facts.JobFacts, a *agenda.Agenda, site Site) (rows []facts.JobFacts, remarks []string, err error) {
	first, rest := row, row
	if first.Agenda, rest.Agenda, err = a.Preview(row.Agenda, row.PAgenda); err != nil {
		return nil, nil, fault("p_agenda", "%v", err)
	}
	items, err := agenda.Parse(first.Agenda, 0)
	if err != nil {
		return nil, nil, fault("p_agenda", "%v", err)
	}
	if site.Most >= 0 && items.Len() > site.Most {
		return nil, nil, fault("p_agenda", "%d items are more than supervisor_p_agenda_max = %d; name fewer",
			items.Len(), site.Most)
	}
	if more := items.Without(a); more != "" {
		remarks = []string{"p_agenda: " + units.Quoted(more) +
			" is not in the range; it runs all the same, in the job of the preview items"}
	}
	none := 0
	first.Priority = cmp.Or(row.PAgendaPriority, site.Priority)
	first.CPUs = cmp.Or(row.PAgendaCPUs, items.Len())
	first.MaxCPUs = &none
	if rest.Agenda.Range == "" {
		return []facts.JobFacts{first}, remarks, nil
	}
	first.Submission += " preview"
	first.Division = &facts.Division{Part: true}
	rest.Division = &facts.Division{Jobs: make([]facts.JobID, 1), Agenda: &row.Agenda}
	return []facts.JobFacts{first, rest}, remarks, nil
}

// onHosts is a job for each host.
func onHosts(row facts.JobFacts) (rows []facts.JobFacts) {
	hosts := slices.Compact(slices.Sorted(slices.Values(row.Hosts)))
	for n, host := range hosts {
		one := row
		one.Hosts, one.CPUs = []string{host}, 1
		switch last := len(hosts) - 1; {
		case n < last:
			one.Submission += " " + host
			one.Division = &facts.Division{Part: true}
		case last > 0:
			one.Division = &facts.Division{Jobs: make([]facts.JobID, last), Hosts: hosts[:last]}
		}
		rows = append(rows, one)
	}
	return rows
}

// Whole is what the submission of a job asked for, as it can be submitted again: that of its last job is the submission
// of all. Changes of the last job since then count.
func Whole(row facts.JobFacts) facts.JobFacts {
	d := row.Division
	if d == nil || d.Part { // nothing more is divided
		row.PAgenda = ""
		row.PAgendaPriority = 0
		row.PAgendaCPUs = 0
		row.Flags = slices.DeleteFunc(slices.Clone(row.Flags), func(flag string) bool { return flag == facts.FlagPAgenda })
		return row
	}
	if d.Agenda != nil {
		row.Agenda = *d.Agenda
	}
	row.Hosts = slices.Concat(d.Hosts, row.Hosts)
	if row.PGrp == d.Jobs[0] {
		row.PGrp = row.ID // a group of its own
	}
	return row
}
