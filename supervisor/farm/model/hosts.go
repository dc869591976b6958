package model

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"qb/agenda"
	"qb/smartshare/fairshare"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// Hosts are all hosts that are known, heard or not, with what follows from all of them.
type Hosts struct {
	ByID       map[facts.HostID]*Host // see Add, Drop and Take
	byName     []*Host                // all of them; no one may change it
	byAgent    map[agentKey][]*Host   // by the key of their agent, and by its machine, boot and state folder
	Machines   map[string]*Machine
	Changes    uint64               // counts changes of what jobs they serve, see Alter; of each job's see Job.Changes
	Properties []agenda.Property    // that requirements may use; nil: to be read from the hosts again
	Capacity   *fairshare.Resources // of all; nil: to be counted
	listened   time.Time            // of the last tick
	read       time.Time            // what came before this has been read
	Stale      *Stale               // of the rows of the last view
}

// Sorted are all hosts by name: no decision may depend on map order.
func (hs *Hosts) Sorted() []*Host {
	if len(hs.byName) != len(hs.ByID) { // changed, where one goes
		hs.byName = slices.SortedFunc(maps.Values(hs.ByID), func(a, b *Host) int { return cmp.Compare(a.ID, b.ID) })
	}
	return hs.byName
}

// Changed notes that a host has gone or has another name.
func (hs *Hosts) Changed() { hs.byName, hs.Properties, hs.Capacity = nil, nil, nil }

// Alter notes that a host may serve other jobs than before: its row has changed, or whom and what it refuses.
func (hs *Hosts) Alter(h *Host) {
	hs.Changes++
	h.Noted()
}

// agentKey is what tells an agent from others: its key alone, or its machine, boot and state folder.
type agentKey struct{ key, machine, boot, state string }

// keysOf lists what an agent may be found by.
func keysOf(row facts.HostFacts) (keys []agentKey) {
	if row.Key != "" {
		keys = append(keys, agentKey{key: row.Key})
	}
	if row.StateID != "" {
		keys = append(keys, agentKey{machine: row.MachineID, boot: row.Boot, state: row.StateID})
	}
	return keys
}

// Add takes a host in.
func (hs *Hosts) Add(h *Host) {
	hs.ByID[h.ID] = h
	h.Shown.in = hs.Stale
	h.Noted()
	if hs.byAgent == nil {
		hs.byAgent = map[agentKey][]*Host{}
	}
	for _, key := range keysOf(h.HostFacts) {
		hs.byAgent[key] = append(hs.byAgent[key], h)
	}
}

// Drop takes a host out.
func (hs *Hosts) Drop(h *Host) {
	delete(hs.ByID, h.ID)
	for _, key := range keysOf(h.HostFacts) {
		hs.byAgent[key] = slices.DeleteFunc(hs.byAgent[key], func(o *Host) bool { return o == h })
		if len(hs.byAgent[key]) == 0 {
			delete(hs.byAgent, key)
		}
	}
}

// Take has a host take over what its worker says of it.
func (hs *Hosts) Take(h *Host, row facts.HostFacts) {
	hs.Drop(h)
	h.Take(row)
	hs.Add(h)
}

// Check returns what is wrong with the way from agents to hosts.
func (hs *Hosts) Check() error {
	n := 0
	for _, h := range hs.ByID {
		for _, key := range keysOf(h.HostFacts) {
			n++
			if !slices.Contains(hs.byAgent[key], h) {
				return fmt.Errorf("host %s is not found by its agent %v", h.ID, key)
			}
		}
	}
	for key, hosts := range hs.byAgent {
		if n -= len(hosts); n < 0 {
			return fmt.Errorf("the agent %v leads to %d hosts, of which not all are there", key, len(hosts))
		}
	}
	return nil
}

// Of finds the host that the agent is, whatever name it reports: the host that has its key, or that is of its machine,
// boot and state folder; else the one of that name.
func (hs *Hosts) Of(row facts.HostFacts) *Host {
	named := hs.ByID[row.ID]
	if named != nil && named.Key == row.Key && named.Same(row) {
		return named
	}
	for _, key := range keysOf(row) {
		var found *Host
		for _, o := range hs.byAgent[key] {
			if (key.key != "" || o.Same(row)) && (found == nil || found.ID > o.ID) {
				found = o
			}
		}
		if found != nil {
			return found
		}
	}
	return named
}

// Present are the hosts that report. Locked hosts are included: a lock ends by itself, or a person set it.
func (hs *Hosts) Present(now time.Time, p *message.Policy) iter.Seq[*fit.Host] {
	return func(yield func(*fit.Host) bool) {
		for _, h := range hs.ByID {
			if state := h.State(now, *p); (state == "up" || state == "locked") && !yield(&h.Host) {
				return
			}
		}
	}
}

// Each are all hosts, by name, as far as they decide which jobs may run there.
func (hs *Hosts) Each() iter.Seq[*fit.Host] {
	return func(yield func(*fit.Host) bool) {
		for _, h := range hs.Sorted() {
			if !yield(&h.Host) {
				return
			}
		}
	}
}

// Known are all properties that a requirement may use on this farm.
func (hs *Hosts) Known() []agenda.Property {
	if hs.Properties == nil {
		hs.Properties = fit.Known(hs.Each())
	}
	return hs.Properties
}

// Cluster is where jobs are ranked from while the hosts are all in one cluster: the one of all hosts
// in, else the site's default, given as fallback. Hosts of several clusters rank the jobs each for itself.
func (hs *Hosts) Cluster(fallback string) string {
	one := ""
	for _, h := range hs.Sorted() {
		switch {
		case one == "":
			one = h.Cluster
		case one != h.Cluster:
			return fallback
		}
	}
	return cmp.Or(one, fallback)
}

// Whole are the totals of all known hosts, heard or not: a host that is off must not make all other
// work dearer.
func (hs *Hosts) Whole() fairshare.Resources {
	if hs.Capacity == nil {
		var sum fairshare.Resources
		for _, h := range hs.Sorted() {
			w := h.Whole()
			sum.CPUs = sum.CPUs + w.CPUs
			sum.Memory = sum.Memory + w.Memory
			sum.GPUs = sum.GPUs + w.GPUs
			sum.Scratch = sum.Scratch + w.Scratch
		}
		hs.Capacity = &sum
	}
	return *hs.Capacity
}

// Locked is how many hosts the farm itself has locked.
func (hs *Hosts) Locked() int {
	n := 0
	for _, h := range hs.ByID {
		if h.LockedBy == LockedByFarm {
			n++
		}
	}
	return n
}

// Failing are the hosts on which items of the job fail at present.
func (hs *Hosts) Failing(j *Job) []*Host {
	if len(j.Trouble.FailedOn) == 0 {
		return nil
	}
	var list []*Host
	for _, h := range hs.Sorted() {
		if h.Failing[j.ID] != nil {
			list = append(list, h)
		}
	}
	return list
}

// Listen counts the time that the farm has listened in vain for hosts: that in which what they sent was read. Where
// reports have waited unread for some time, what was sent since then may be among them; and one tick after a long pause
// says that this process was stopped. Time in which the farm did not listen is left out of every host's silence; one
// that was silent for longer than the liveness may have been here all the time.
func (hs *Hosts) Listen(now time.Time, unread, liveness time.Duration) {
	if hs.listened.IsZero() {
		hs.listened = now.Add(-listenStep)
		hs.read = hs.listened
	}
	whole := max(0, now.Sub(hs.listened))
	passed := min(max(0, now.Add(-unread).Sub(hs.read)), listenStep, whole)
	hs.listened = now
	if read := now.Add(-unread); read.After(hs.read) {
		hs.read = read
	}
	for _, h := range hs.Sorted() {
		h.Listen(now, passed)
		if missed := whole - passed; missed > 0 {
			if !now.Before(h.SilentAt(liveness)) {
				h.Noted()
			}
			h.Excuse(missed)
		}
	}
}

// Seat puts a host to the machine that it is on now.
func (hs *Hosts) Seat(h *Host) {
	key := h.MachineID + "\x00" + h.Boot
	if h.MachineID == "" {
		key = "\x00" + string(h.ID)
	}
	if h.Machine != nil && h.machineKey == key {
		return
	}
	hs.Unseat(h)
	m := hs.Machines[key]
	if m == nil {
		m = &Machine{}
		hs.Machines[key] = m
	}
	m.Hosts = append(m.Hosts, h)
	h.Machine, h.machineKey = m, key
	h.Noted()
}

// Unseat takes a host off its machine.
func (hs *Hosts) Unseat(h *Host) {
	old := h.Machine
	if old == nil {
		return
	}
	h.Noted()
	old.Hosts = slices.DeleteFunc(old.Hosts, func(o *Host) bool { return o == h })
	if len(old.Hosts) == 0 {
		delete(hs.Machines, h.machineKey)
	}
	h.Machine = nil
}
