package facts

import "qb/agenda"

// Division says how a submission became several jobs. It never changes.
type Division struct {
	Part bool    `json:"part,omitempty"` // the job is not the last of its submission, by which all are shown
	Jobs []JobID `json:"jobs,omitempty"` // of the last one: the others
	// Agenda of the last one is the agenda of the whole submission; nil: there is one job for each host.
	Agenda *agenda.Spec `json:"agenda,omitempty"`
	Hosts  []string     `json:"hosts,omitempty"` // of the last one: the hosts of the others
}

// Before are the jobs that the submission made before this one, its last; nil: none.
func (j *JobFacts) Before() []JobID {
	if j.Division == nil {
		return nil
	}
	return j.Division.Jobs
}

// Part says whether the job is one of a submission but not the last, by which all are shown.
func (j *JobFacts) Part() bool { return j.Division != nil && j.Division.Part }

func (d *Division) bytes() (n int) {
	if d == nil {
		return 0
	}
	if n = 8 * len(d.Jobs); d.Agenda != nil {
		n += len(d.Agenda.Range)
	}
	for _, host := range d.Hosts {
		n += len(host)
	}
	return n
}
