package farm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"qb/supervisor/facts"
)

// placeKeys tells jobs apart by the hosts that serve them, for as long as no host changes.
type placeKeys struct {
	steps  []int64 // how much memory hosts have, each amount once, ascending
	choosy bool    // some host does not run the items of everybody
}

func (f *Farm) placeKeys() placeKeys {
	k := placeKeys{steps: make([]int64, 0, 16)}
	for _, h := range f.sortedHosts() {
		if len(k.steps) == 0 || k.steps[len(k.steps)-1] != h.Memory {
			k.steps = append(k.steps, h.Memory)
		}
		k.choosy = k.choosy || h.runAs == "agent" || len(h.noOwner) > 0
	}
	slices.Sort(k.steps)
	k.steps = slices.Compact(k.steps)
	return k
}

// step is how many sizes of hosts have less memory than the job needs. Of its need only that matters, so that thousands
// of learned needs make a few keys.
func (k placeKeys) step(j *job) int {
	step, _ := slices.BinarySearch(k.steps, max(j.needs.memory, j.book.need))
	return step
}

// of is equal for jobs to which refusal says the same on every host.
func (k placeKeys) of(j *job) string {
	step := k.step(j)
	user := ""
	if k.choosy {
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

// looksAtRunning says whether a requirement looks at what changes with what a host runs.
func (n needs) looksAtRunning() bool {
	return slices.ContainsFunc(n.required.Properties(), func(name string) bool {
		return slices.Contains(passing, name) || strings.HasPrefix(name, "host.duty.")
	})
}

// passing are properties that change with what runs.
var passing = []string{"host.processors.used", "host.processors.avail", "host.memory.avail"}
