package page

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/farm/message"
)

// letters are the letters of host states. A state that is not in the map has the letter u, for up.
var letters = map[string]byte{"locked": 'k', "unreachable": 'n', "lost": 'l'}

// instanceRun is instances of one host that are alike.
type instanceRun struct {
	job   int64
	kind  byte
	slots int
}

// A host has runs: like instances of one job next to each other. A job is written as its distance from the job of the
// run before. So small numbers repeat, which compresses well.

// SlotMap is the map of these hosts.
func SlotMap(hosts iter.Seq[*message.HostView], at time.Time) api.SlotMapReply {
	m := api.SlotMapReply{At: at, Hosts: []string{}, Slots: []int{}, Foreign: []int{}, Runs: []int{}, Jobs: []int64{},
		Each: []int{}, Count: []int{}}
	var states, kinds []byte
	var here []instanceRun
	for h := range hosts {
		here = here[:0]
		for n := range h.Instances {
			if i := &h.Instances[n]; i.Slots > 0 { // others may have the slots of what is suspended
				here = append(here, instanceRun{int64(i.Job), kind(i), i.Slots})
			}
		}
		slices.SortFunc(here, func(a, b instanceRun) int {
			return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.kind, b.kind), cmp.Compare(a.slots, b.slots))
		})
		m.Hosts = append(m.Hosts, string(h.ID))
		m.Slots = append(m.Slots, h.Slots)
		m.Foreign = append(m.Foreign, h.Away)
		states = append(states, cmp.Or(letters[h.State], 'u'))
		before, job := len(m.Jobs), int64(0)
		for n, r := range here {
			if n > 0 && r == here[n-1] {
				m.Count[len(m.Count)-1]++
				continue
			}
			m.Jobs = append(m.Jobs, r.job-job)
			m.Each = append(m.Each, r.slots)
			m.Count = append(m.Count, 1)
			kinds, job = append(kinds, r.kind), r.job
		}
		m.Runs = append(m.Runs, len(m.Jobs)-before)
	}
	m.States, m.Kinds = string(states), string(kinds)
	return m
}

func kind(i *message.InstanceView) byte {
	if i.State != "active" {
		return 'd'
	}
	return i.Kind.String()[0]
}
