package fit

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Keys tells jobs apart by the hosts that serve them, for as long as no host changes.
type Keys struct {
	steps   []int64       // how much memory hosts have, each amount once, ascending
	Choosy  bool          // some host runs items of some users only
	lacked  map[Lack]bool // by some host; of folders without the user
	typed   bool          // some host runs jobs of some types only
	systems []*Host       // that differ in their mapping, one of each kind
	seen    map[mapping]bool
}

// KeysOf are the keys among these hosts.
func KeysOf(hosts iter.Seq[*Host]) (k Keys) {
	for h := range hosts {
		if n := len(k.steps); n == 0 || k.steps[n-1] != h.Memory {
			k.steps = append(k.steps, h.Memory)
		}
		k.Choosy = k.Choosy || h.Choosy()
		k.typed = k.typed || h.Properties["jobtypes"] != ""
		if m := h.mapping(); !k.seen[m] {
			if k.seen == nil {
				k.seen = map[mapping]bool{}
			}
			k.seen[m] = true
			k.systems = append(k.systems, h)
		}
		for lack := range h.Lacks.until {
			if k.lacked == nil {
				k.lacked = map[Lack]bool{}
			}
			k.lacked[Lack{Folder: lack.Folder, Job: lack.Job}] = true
		}
	}
	slices.Sort(k.steps)
	k.steps = slices.Compact(k.steps)
	return k
}

// Passing says whether some host serves other jobs after a while, or when it says as whom it runs items.
func (k Keys) Passing() bool { return k.Choosy || len(k.lacked) > 0 }

// Least is the memory of the smallest host, of which there is one.
func (k Keys) Least() int64 { return k.steps[0] }

// Step is how many sizes of hosts have less memory than that. Of what a job needs only this matters, so that thousands
// of learned needs make a few keys.
func (k Keys) Step(bytes int64) int {
	step, _ := slices.BinarySearch(k.steps, bytes)
	return step
}

// Of is equal for jobs that every host refuses alike.
func (k Keys) Of(j *Job) string {
	step := k.Step(j.MostMemory())
	user := ""
	if k.Choosy {
		user = j.User
	}
	if k.lacked[Lack{Folder: j.Cwd}] {
		user = j.User + "\x00" + j.Cwd
	}
	if k.lacked[Lack{Job: j.ID}] {
		user += fmt.Sprint("\x00", j.ID)
	}
	if k.typed {
		user += "\x00" + j.Type()
	}
	user += k.systemsOf(j)
	if len(j.Hosts)+len(j.OmitHosts)+len(j.Groups)+len(j.OmitGroups)+len(j.Requirements)+len(j.Reservations)+
		len(j.Restrictions)+len(j.Avoids) == 0 {
		return user + "\x00" + strconv.Itoa(step)
	}
	own := ""
	if j.LooksAtJob() || len(j.Avoids) > 0 { // with what of it can change
		own = fmt.Sprint(j.ID, " ", j.Priority, " ", j.PGrp, " ", j.CPUs, " ", j.status(), "\x00", j.Name, "\x00", j.Cluster,
			"\x00", j.Account, "\x00", j.Flags)
	}
	return strings.Join([]string{user, fmt.Sprint(j.Hosts), fmt.Sprint(j.OmitHosts), fmt.Sprint(j.Groups),
		fmt.Sprint(j.OmitGroups),
		j.Requirements, j.Reservations, j.Restrictions, fmt.Sprint(own, " ", step)}, "\x00")
}

// maxSystems is how many kinds of hosts are asked for a key. Hosts with so many different path maps are asked by each
// job for itself.
const maxSystems = 32

// systemsOf is equal for jobs that hosts refuse alike for their systems.
func (k Keys) systemsOf(j *Job) string {
	if j.foreign.family == "" {
		return ""
	}
	if len(k.systems) > maxSystems {
		return fmt.Sprint("\x00", j.ID)
	}
	served := []byte{0}
	for _, h := range k.systems {
		if j.refusesSystem(h).Serves() {
			served = append(served, '+')
		} else {
			served = append(served, '-')
		}
	}
	return string(served)
}
