package fit

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"qb/supervisor/job/facts"
)

// Avoidance is a user, a folder or a job that gets nothing on a host for a while.
type Avoidance struct {
	User   string      // whose items; with Folder only the ones that run there
	Folder string      // where they would run
	Job    facts.JobID // whose items
	Code   facts.Reason
	Failed int // items that failed there; 0: they could not run, or were migrated from there
	Until  time.Time
	Text   string
}

// avoidance is why the host gets nothing of a user, a folder or a job, as listings show it.
func (h *Host) avoidance(r Refusal, whose string) Avoidance {
	return Avoidance{Code: r.Kind, Failed: int(r.Have.Amount), Until: r.Until, Text: r.avoidedText(whose)}
}

// Avoidances are the users, folders and jobs that get nothing on the host for a while.
func (h *Host) Avoidances(now time.Time) (list []Avoidance) {
	for _, user := range slices.Sorted(maps.Keys(h.Refuses)) {
		if r := h.avoidsUser(now, user); !r.Serves() {
			a := h.avoidance(r, user)
			a.User = user
			list = append(list, a)
		}
	}
	h.Lacks.each(now, func(l Lack, until time.Time) {
		whose := "jobs in " + l.Folder
		switch {
		case l.Job != 0:
			whose = fmt.Sprintf("job %d", l.Job)
		case l.User != "":
			whose += " by " + l.User
		}
		a := h.avoidance(Refusal{Kind: l.Reason(), Until: until, asked: now}, whose)
		a.User = l.User
		a.Folder = l.Folder
		a.Job = l.Job
		list = append(list, a)
	})
	return list
}

// AvoidedBy is that a job avoids the host; found is false if it does not.
func (h *Host) AvoidedBy(now time.Time, job facts.JobID, avoids map[facts.HostID]Refuses) (a Avoidance, found bool) {
	r := h.avoidedBy(now, avoids)
	if r.Serves() {
		return a, false
	}
	a = h.avoidance(r, fmt.Sprintf("job %d", job))
	a.Job = job
	return a, true
}

// AvoidedText sums avoidances up for a host's remark; "" if there is none.
func AvoidedText(list []Avoidance) string {
	switch others := len(list) - 1; {
	case others < 0:
		return ""
	case others == 0:
		return list[0].Text
	case others == 1:
		return list[0].Text + "; " + list[1].Text
	default:
		return fmt.Sprintf("%s; nor of %d other users, folders or jobs", list[0].Text, others)
	}
}
