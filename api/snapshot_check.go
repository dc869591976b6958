package api

import (
	"cmp"
	"fmt"
	"slices"
)

// check refuses a snapshot that contradicts itself.
func (r *snapshotReader) check(doc *SnapshotDoc) {
	switch {
	case doc.Slots != nil && doc.Hosts != nil:
		r.refuse("hosts", "a snapshot has slots (one pool) or hosts, not both")
	case doc.Slots == nil && doc.Hosts == nil:
		r.refuse("slots", "missing; a snapshot has slots (one pool) or hosts")
	}
	for i, term := range doc.Policy.Order {
		if slices.Contains(doc.Policy.Order[:i], term) {
			r.refuse(fmt.Sprintf("policy.order[%d]", i), "%q is there twice", term)
		}
	}
	hosts := make(map[string]int)
	for i, h := range doc.Hosts {
		r.number(hosts, h.Name, i, "hosts[%d]", ".name")
		if (h.Present == nil) != (doc.Hosts[0].Present == nil) {
			r.refuse(fmt.Sprintf("hosts[%d].present", i), "all hosts of a snapshot say it, or none")
		}
	}
	r.checkOrders(doc, hosts)
	jobs := make(map[string]int)
	for i := range doc.Jobs {
		j := &doc.Jobs[i]
		place := fmt.Sprintf("jobs[%d]", i)
		r.number(jobs, j.ID, i, "jobs[%d]", ".id")
		switch {
		case j.Slots == 0:
			r.refuse(place+".slots", "an instance takes at least 1 slot")
		case j.Weight == 0:
			r.refuse(place+".weight", "must be above 0")
		}
		for k, name := range j.Hosts {
			if _, known := hosts[name]; !known {
				r.refuse(fmt.Sprintf("%s.hosts[%d]", place, k), "there is no host %q%s", name, poolHint(doc))
			}
		}
	}
	if in := doc.Reserved; in != nil {
		if _, known := jobs[in.Job]; !known && in.Job != "" {
			r.refuse("reserved.job", "there is no job %q", in.Job)
		}
		if _, known := hosts[in.Host]; !known {
			r.refuse("reserved.host", "there is no host %q%s", in.Host, poolHint(doc))
		}
	}
	r.checkRunning(doc, hosts, jobs)
}

// checkOrders refuses values of unknown hosts, and jobs that name an unknown order.
func (r *snapshotReader) checkOrders(doc *SnapshotDoc, hosts map[string]int) {
	orders := map[string]int{}
	for i, order := range doc.Orders {
		r.number(orders, order.Name, i, "orders[%d]", ".name")
		for k, term := range order.Terms {
			for v, value := range term.Values {
				if _, known := hosts[value.Host]; !known {
					r.refuse(fmt.Sprintf("orders[%d].terms[%d].values[%d].host", i, k, v), "there is no host %q%s", value.Host,
						poolHint(doc))
				}
			}
		}
	}
	for i := range doc.Jobs {
		if _, known := orders[doc.Jobs[i].HostOrder]; !known && doc.Jobs[i].HostOrder != "" {
			r.refuse(fmt.Sprintf("jobs[%d].host_order", i), "there is no order %q", doc.Jobs[i].HostOrder)
		}
	}
}

// number notes that entry n of a list has a name, and refuses an entry with the name of another. Place is the format of
// an entry's position.
func (r *snapshotReader) number(names map[string]int, name string, n int, place, member string) {
	if other, twice := names[name]; twice {
		r.refuse(fmt.Sprintf(place, n)+member, "%q is also "+place, name, other)
	}
	names[name] = n
}

func poolHint(doc *SnapshotDoc) string {
	if doc.Slots != nil {
		return "; this snapshot has one pool of slots"
	}
	return ""
}

// checkRunning adds up what runs, instance by instance, so that the place is the first one too many. In
// one pool the name of a host says nothing.
func (r *snapshotReader) checkRunning(doc *SnapshotDoc, hosts, jobs map[string]int) {
	ids := make(map[string]int)
	slots, memory := make([]int, len(doc.Hosts)+1), make([]int64, len(doc.Hosts)+1)
	items := make([]int, len(doc.Jobs))
	for i := range doc.Running {
		in := &doc.Running[i]
		place := fmt.Sprintf("running[%d]", i)
		r.number(ids, in.ID, i, "running[%d]", ".id")
		j, known := jobs[in.Job]
		if !known {
			r.refuse(place+".job", "there is no job %q", in.Job)
			return
		}
		h, known := hosts[in.Host]
		switch {
		case doc.Slots != nil:
			h = 0
		case in.Host == "":
			r.refuse(place+".host", "missing; this snapshot has hosts")
			return
		case !known:
			r.refuse(place+".host", "there is no host %q", in.Host)
			return
		}
		r.checkTimes(doc, in, place)
		if in.Memory != nil && *in.Memory == 0 {
			in.Memory = nil
		}
		slots[h] += doc.Jobs[j].Slots
		memory[h] += *cmp.Or(in.Memory, &doc.Jobs[j].Memory)
		if doc.Slots != nil || doc.Hosts[h].Present == nil { // items may have more memory than they were promised
			r.checkRoom(doc, h, slots[h], memory[h], place)
		}
		if in.ItemStarted != nil || in.LostWork != nil {
			items[j]++
		}
		if left := doc.Jobs[j].Remaining; left != nil && items[j] > *left {
			r.refuse(place, "job %s has %d instances with an item, but only %d items remain", in.Job, items[j], *left)
		}
	}
}

// checkTimes refuses what began in the future; without a now nothing is known about that.
func (r *snapshotReader) checkTimes(doc *SnapshotDoc, in *SnapshotInstance, place string) {
	switch {
	case doc.Now == 0:
	case in.Started > doc.Now:
		r.refuse(place+".started", "%v is after now (%v)", in.Started, doc.Now)
	case in.ItemStarted != nil && *in.ItemStarted > doc.Now:
		r.refuse(place+".item_started", "%v is after now (%v)", *in.ItemStarted, doc.Now)
	}
}

func (r *snapshotReader) checkRoom(doc *SnapshotDoc, host, slots int, memory int64, place string) {
	if doc.Slots != nil {
		if slots > *doc.Slots {
			r.refuse(place, "with it %d slots are in use, but there are only %d", slots, *doc.Slots)
		}
		return
	}
	h := &doc.Hosts[host]
	switch {
	case slots > h.Slots:
		r.refuse(place+".host", "with it %d slots of host %s are in use, but it has only %d", slots, h.Name, h.Slots)
	case h.Memory != nil && memory > *h.Memory:
		r.refuse(place+".host", "with it %d bytes of host %s are in use, but it has only %d", memory, h.Name, *h.Memory)
	}
}
