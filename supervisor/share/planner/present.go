package planner

import (
	"maps"
	"math"
	"strings"

	"qb/smartshare"
	"qb/supervisor/job/fit"
)

// Present is what a host can take at the moment of the snapshot. The division goes by what a host has in all; which
// host a start gets, and whether it can be made at once, goes by this.
type Present struct {
	Free    int   // slots; negative where more are taken than offered
	Used    int   // slots that are taken
	Trial   bool  // takes one instance, and no other beside that
	Heard   bool  // its worker has spoken: its idle slots share the memory of the machine
	Limited bool  // its memory is known and promised piece by piece
	Full    bool  // takes nothing for now that is promised memory
	Machine int   // hosts with the same number share the memory of one machine
	Own     int64 // bytes that may still be promised, of the host's own part
	Shared  int64 // the same, of the machine
	// What follows is held by instances that end whatever the plan says.
	EndingSlots  int
	EndingMemory int64
	Coming       map[string]int64 // what comes free of the host's resources
	Ends         []End            // of all instances on the host that are not in Running
	// Left is what is left of the host's resources.
	Left map[string]int64
}

// Promisable is how many bytes the host may still promise, without bound if its memory is not known.
func (h *Present) Promisable() int64 {
	if !h.Limited {
		return math.MaxInt64
	}
	return min(h.Shared, h.Own)
}

// HostOrder is a preference among hosts, most important term first.
type HostOrder []OrderTerm

// OrderTerm is one property of the hosts.
type OrderTerm struct {
	More    bool             // a host with more of it is better, else one with less
	PerSlot int              // by how much it grows with each slot that is taken
	Values  []fit.OrderValue // by host
}

// Reserved is the host that the last plan keeps for a job which finds no room.
type Reserved struct {
	Host, Job int     // -1: a job that the snapshot leaves out
	Sure      float64 // the job cannot start there before, as things are now
	Primaries int     // of the job when it got the host
}

// presentHosts are what the hosts can take, by what runs there where the snapshot does not say.
func (s *Snapshot) presentHosts(scratch *smartshare.Scratch) []Present {
	list := smartshare.Lend[Present](scratch, len(s.Hosts))
	if s.Present != nil {
		copy(list, s.Present)
		for n := range list {
			list[n].Left, list[n].Coming = copied(list[n].Left), copied(list[n].Coming)
		}
		return list
	}
	for n := range s.Hosts {
		h := &s.Hosts[n]
		list[n] = Present{
			Free: h.Slots - h.Ending, Used: h.Ending, Heard: true, Limited: h.Memory >= 0, Machine: n,
			Own: h.Memory - h.EndingMemory, Shared: h.Memory - h.EndingMemory, Left: copied(h.Resources),
			EndingSlots: h.Ending, EndingMemory: h.EndingMemory,
		}
	}
	for i := range s.Running {
		h := &list[s.Running[i].Host]
		h.Free -= s.taken(i)
		h.Used += s.taken(i)
		h.Own -= s.bytes(i)
		h.Shared -= s.bytes(i)
		for name, amount := range s.holds(i) {
			if strings.HasPrefix(name, "host.") {
				add(&h.Left, name, -amount)
			}
		}
	}
	return list
}

// add adds to an amount in a map, which may not be there yet.
func add(amounts *map[string]int64, name string, n int64) {
	if *amounts == nil {
		*amounts = map[string]int64{}
	}
	(*amounts)[name] += n
}

// presentStock is what is left of the resources and limits of the whole farm.
func (s *Snapshot) presentStock() map[string]int64 {
	left := map[string]int64{}
	if s.Present != nil {
		maps.Copy(left, s.Left)
		return left
	}
	maps.Copy(left, s.Resources)
	for name, most := range s.Limits {
		left[name] = most
	}
	for i := range s.Running {
		for name, amount := range s.holds(i) {
			if !strings.HasPrefix(name, "host.") {
				left[name] -= amount
			}
		}
	}
	return left
}

// presentItems are the items that no instance has, by job; negative: without bound.
func (s *Snapshot) presentItems(scratch *smartshare.Scratch) []int {
	list := smartshare.Lend[int](scratch, len(s.Jobs))
	for n := range s.Jobs {
		list[n] = s.Jobs[n].Remaining
		if s.Present != nil {
			list[n] = s.Jobs[n].Pending
		}
	}
	if s.Present == nil {
		for n := range s.Running {
			if j := s.Running[n].Job; list[j] > 0 && s.Running[n].HasItem {
				list[j]--
			}
		}
	}
	return list
}

func copied(m map[string]int64) map[string]int64 {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

// grant is how many slots an instance of the job gets on a host with so many free and used, 0 if it cannot start there.
func (j *SnapJob) grant(free, used int) int {
	switch {
	case free < j.Slots, j.Alone && used > 0:
		return 0
	case j.MostSlots < 0:
		return free
	}
	return min(free, max(j.Slots, j.MostSlots))
}
