package slotmap

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/message"
)

// letters are those of the states of hosts; what is not here is u for up.
var letters = map[string]byte{"locked": 'k', "unreachable": 'n', "lost": 'l'}

// run is instances of one host that are alike.
type run struct {
	job   int64
	kind  byte
	slots int
}

// Of is the map of these hosts.
func Of(hosts iter.Seq[*message.HostView], at time.Time) api.SlotMapReply {
	m := api.SlotMapReply{At: at, Hosts: []string{}, Slots: []int{}, Foreign: []int{}, Runs: []int{}, Jobs: []int64{}, Each: []int{}, Count: []int{}}
	var states, kinds []byte
	var here []run
	for h := range hosts {
		here = here[:0]
		for n := range h.Instances {
			if i := &h.Instances[n]; i.Slots > 0 { // others may have the slots of what is suspended
				here = append(here, run{int64(i.Job), kind(i), i.Slots})
			}
		}
		slices.SortFunc(here, func(a, b run) int {
			return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.kind, b.kind), cmp.Compare(a.slots, b.slots))
		})
		m.Hosts, m.Slots, m.Foreign = append(m.Hosts, string(h.ID)), append(m.Slots, h.Slots), append(m.Foreign, h.Away)
		states = append(states, cmp.Or(letters[h.State], 'u'))
		before, job := len(m.Jobs), int64(0)
		for n, r := range here {
			if n > 0 && r == here[n-1] {
				m.Count[len(m.Count)-1]++
				continue
			}
			m.Jobs, m.Each, m.Count = append(m.Jobs, r.job-job), append(m.Each, r.slots), append(m.Count, 1)
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
