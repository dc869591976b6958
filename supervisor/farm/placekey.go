package farm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"qb/supervisor/facts"
)

// placeKey is equal for jobs to which refusal says the same on every host. Fresh begins a new comparison: the
// hosts may have changed since the last.
func (f *Farm) placeKey(j *job, fresh bool) string {
	if fresh && !f.stepped {
		f.steps, f.choosy = f.steps[:0], false
		for _, h := range f.hosts {
			f.steps = append(f.steps, h.Memory)
			f.choosy = f.choosy || h.runAs == "agent" || len(h.noOwner) > 0
		}
		slices.Sort(f.steps)
		f.steps, f.stepped = slices.Compact(f.steps), true
	}
	// Of what a job needs it only matters on which hosts there is less, so that thousands of learned needs
	// make a few keys.
	step, _ := slices.BinarySearch(f.steps, max(j.needs.memory, j.book.need))
	user := ""
	if f.choosy {
		user = j.User
	}
	if len(j.Hosts)+len(j.OmitHosts)+len(j.Groups)+len(j.OmitGroups)+len(j.Requirements)+len(j.Reservations)+len(j.Restrictions) == 0 {
		return user + "\x00" + strconv.Itoa(step)
	}
	own := facts.JobID(0)
	if j.looksAtItself() {
		own = j.ID
	}
	return strings.Join([]string{user, fmt.Sprint(j.Hosts), fmt.Sprint(j.OmitHosts), fmt.Sprint(j.Groups), fmt.Sprint(j.OmitGroups),
		j.Requirements, j.Reservations, j.Restrictions, fmt.Sprint(own, " ", step)}, "\x00")
}

// looksAtItself says whether the job's requirements have properties of the job.
func (j *job) looksAtItself() bool {
	return j.Requirements != "" && slices.ContainsFunc(j.needs.required.Properties(), func(name string) bool { return strings.HasPrefix(name, "job.") })
}
