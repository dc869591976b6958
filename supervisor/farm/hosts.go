package farm

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"qb/agenda"
	"qb/smartshare/fairshare"
	"qb/supervisor/facts"
	"qb/supervisor/fit"
	"qb/supervisor/message"
)

// hosts are all hosts that are known, heard or not, with what follows from all of them.
type hosts struct {
	byID       map[facts.HostID]*host
	byName     []*host // all of them; nobody may change it
	machines   map[string]*machine
	changes    uint64               // counts changes of their rows; of each job's see job.changes
	properties []agenda.Property    // that requirements may use; nil: to be read from the hosts again
	capacity   *fairshare.Resources // of all; nil: to be counted
	listened   time.Time            // of the last tick
	lacking    bool                 // some host is known to lack a working folder
}

// sorted are all hosts by name: no decision may depend on map order.
func (hs *hosts) sorted() []*host {
	if len(hs.byName) != len(hs.byID) { // changed, where one goes
		hs.byName = slices.SortedFunc(maps.Values(hs.byID), func(a, b *host) int { return cmp.Compare(a.ID, b.ID) })
	}
	return hs.byName
}

// changed notes that a host has gone or has another name.
func (hs *hosts) changed() { hs.byName, hs.properties, hs.capacity = nil, nil, nil }

// of finds the host that the agent is, whatever name it reports: the one that has its key, or that is of its machine,
// boot and state folder; else the one of that name.
func (hs *hosts) of(row facts.HostFacts) *host {
	named := hs.byID[row.ID]
	if named != nil && named.Key == row.Key && named.Same(row) {
		return named
	}
	var same *host
	for _, o := range hs.byID {
		switch {
		case row.Key != "" && o.Key == row.Key:
			return o
		case o.StateID != "" && o.Same(row) && (same == nil || same.ID > o.ID):
			same = o
		}
	}
	return cmp.Or(same, named)
}

// present are the hosts that report, locked ones included: a lock ends by itself or is a person's word.
func (hs *hosts) present(now time.Time, p *message.Policy) iter.Seq[*fit.Host] {
	return func(yield func(*fit.Host) bool) {
		for _, h := range hs.byID {
			if state := h.state(now, *p); (state == "up" || state == "locked") && !yield(&h.Host) {
				return
			}
		}
	}
}

// each are all hosts, by name, as far as they decide which jobs may run there.
func (hs *hosts) each() iter.Seq[*fit.Host] {
	return func(yield func(*fit.Host) bool) {
		for _, h := range hs.sorted() {
			if !yield(&h.Host) {
				return
			}
		}
	}
}

// known are all properties that a requirement may use on this farm.
func (hs *hosts) known() []agenda.Property {
	if hs.properties == nil {
		hs.properties = fit.Known(hs.each())
	}
	return hs.properties
}

// cluster is where jobs are ranked from while the hosts do not tell them apart: the one that all hosts are
// in, else the site's default, given as fallback. Hosts of several clusters rank the jobs each for itself.
func (hs *hosts) cluster(fallback string) string {
	one := ""
	for _, h := range hs.sorted() {
		switch {
		case one == "":
			one = h.Cluster
		case one != h.Cluster:
			return fallback
		}
	}
	return cmp.Or(one, fallback)
}

// whole are the totals of all known hosts, heard or not: a host that is off must not make all other
// work dearer.
func (hs *hosts) whole() fairshare.Resources {
	if hs.capacity == nil {
		var sum fairshare.Resources
		for _, h := range hs.sorted() {
			w := h.whole()
			sum.CPUs, sum.Memory, sum.GPUs, sum.Scratch = sum.CPUs+w.CPUs, sum.Memory+w.Memory, sum.GPUs+w.GPUs, sum.Scratch+w.Scratch
		}
		hs.capacity = &sum
	}
	return *hs.capacity
}

// locked is how many hosts the farm itself has locked.
func (hs *hosts) locked() int {
	n := 0
	for _, h := range hs.byID {
		if h.LockedBy == lockedByFarm {
			n++
		}
	}
	return n
}

// failing are the hosts on which items of the job fail at present.
func (hs *hosts) failing(j *job) []*host {
	if len(j.Trouble.FailedOn) == 0 {
		return nil
	}
	var list []*host
	for _, h := range hs.sorted() {
		if h.failing[j.ID] != nil {
			list = append(list, h)
		}
	}
	return list
}

// listen counts the time that the farm has listened in vain for hosts whose names are claimed.
func (hs *hosts) listen(now time.Time) {
	passed := min(max(0, now.Sub(hs.listened)), listenStep)
	hs.listened = now
	for _, h := range hs.sorted() {
		h.Listen(now, passed)
	}
}

// seat puts a host to the machine that it is on now.
func (hs *hosts) seat(h *host) {
	key := h.MachineID + "\x00" + h.Boot
	if h.MachineID == "" {
		key = "\x00" + string(h.ID)
	}
	if h.machine != nil && h.machineKey == key {
		return
	}
	hs.unseat(h)
	m := hs.machines[key]
	if m == nil {
		m = &machine{}
		hs.machines[key] = m
	}
	m.hosts = append(m.hosts, h)
	h.machine, h.machineKey = m, key
}

// unseat takes a host off its machine.
func (hs *hosts) unseat(h *host) {
	old := h.machine
	if old == nil {
		return
	}
	old.hosts = slices.DeleteFunc(old.hosts, func(o *host) bool { return o == h })
	if len(old.hosts) == 0 {
		delete(hs.machines, h.machineKey)
	}
	h.machine = nil
}
