package translate

import (
	"maps"
	"slices"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// Snapshot is the farm in the form that qb plan reads.
func Snapshot(s planner.Snapshot) api.SnapshotDoc {
	doc := api.SnapshotDoc{
		Now: s.Now, Cluster: s.Cluster, Resources: s.Resources, Limits: s.Limits,
		Policy: api.SnapshotPolicy{
			Mode: s.Policy.Mode, Preempt: s.Policy.Preempt, DefaultMaxCPUs: s.Policy.DefaultMaxCPUs,
			MaxCPUsLimit: s.Policy.MaxCPUsLimit,
			ShareUnit:    s.Policy.ShareUnit, Promote: s.Policy.Promote, Order: OrEmpty(s.Policy.Order),
			DefaultPriority: s.Policy.DefaultPriority,
			Placement:       s.Policy.Placement, DefaultMemory: s.Policy.DefaultMemory, MinRun: s.Policy.MinRun,
			Settle:  s.Policy.Settle,
			MaxLost: s.Policy.MaxLost, PrimaryPreempt: s.Policy.PrimaryPreempt, Reserve: s.Policy.Reserve,
		},
		Left:    s.Left,
		Coming:  s.Coming,
		Urgent:  s.Urgent,
		Hosts:   Each(s.Hosts, snapshotHost),
		Jobs:    Each(s.Jobs, func(j planner.SnapJob) api.SnapshotJob { return snapshotJob(s, j) }),
		Running: make([]api.SnapshotInstance, 0, len(s.Running)),
	}
	for n := range s.Present {
		doc.Hosts[n].Present = snapshotPresent(&s.Present[n])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Orders)) {
		doc.Orders = append(doc.Orders, snapshotOrder(s, name))
	}
	if r := s.Reserved; r != nil {
		doc.Reserved = &api.SnapshotReserved{Host: s.Hosts[r.Host].Name, Sure: r.Sure, Primaries: r.Primaries}
		if r.Job >= 0 {
			doc.Reserved.Job = s.Jobs[r.Job].ID
		}
	}
	for _, i := range s.Running {
		instance := api.SnapshotInstance{
			ID: i.ID, Job: s.Jobs[i.Job].ID, Kind: i.Kind.String(), Host: s.Hosts[i.Host].Name, Started: i.Started,
			Protected: i.Protected, Draining: i.Draining,
			Stood: i.Stood, Holds: i.Holds, Number: int(i.Number), Spared: i.Spared, Suspended: i.Suspended,
			Released: i.Released, Expires: i.Expires,
		}
		if slots := int(i.Slots); slots != s.Jobs[i.Job].Slots {
			instance.Slots = slots
		}
		if i.Memory > 0 && i.Memory != s.Jobs[i.Job].Memory && s.Hosts[i.Host].Memory >= 0 {
			instance.Memory = new(i.Memory)
		}
		if i.HasItem {
			instance.ItemStarted = new(i.ItemStarted)
		}
		doc.Running = append(doc.Running, instance)
	}
	return doc
}

func snapshotPresent(p *planner.Present) *api.SnapshotPresent {
	var ends []api.SnapshotEnd
	for _, e := range p.Ends {
		ends = append(ends, api.SnapshotEnd{At: e.At, NotBefore: e.Sure, Slots: e.Slots, Holds: e.Holds})
	}
	return &api.SnapshotPresent{
		Free: p.Free, Used: p.Used, Trial: p.Trial, Heard: p.Heard, Limited: p.Limited, Full: p.Full, Machine: p.Machine,
		Own:    p.Own,
		Shared: p.Shared, Left: p.Left, EndingSlots: p.EndingSlots, EndingMemory: p.EndingMemory, Coming: p.Coming,
		Ends: ends,
	}
}

func snapshotOrder(s planner.Snapshot, name string) api.SnapshotOrder {
	return api.SnapshotOrder{Name: name, Terms: Each(s.Orders[name], func(t planner.OrderTerm) api.SnapshotOrderTerm {
		term := api.SnapshotOrderTerm{More: t.More, PerSlot: t.PerSlot, Values: []api.SnapshotOrderValue{}}
		for n, v := range t.Values {
			if v.Has {
				term.Values = append(term.Values, api.SnapshotOrderValue{Host: s.Hosts[n].Name, Number: v.Number, Text: v.Text})
			}
		}
		return term
	})}
}

func snapshotHost(h planner.SnapHost) api.SnapshotHost {
	host := api.SnapshotHost{Name: h.Name, Slots: h.Slots, Tags: OrEmpty(h.Tags), Cluster: h.Cluster, Up: h.Up,
		Resources: h.Resources,
		Ending:    h.Ending, EndingMemory: h.EndingMemory}
	if h.Memory >= 0 {
		host.Memory = new(h.Memory)
	}
	return host
}

func snapshotJob(s planner.Snapshot, j planner.SnapJob) api.SnapshotJob {
	out := api.SnapshotJob{
		ID: j.ID, User: j.User, Priority: j.Priority, Submit: j.Submit, Cluster: j.Cluster, CPUs: j.CPUs,
		MaxCPUs: j.MaxCPUs, Agenda: j.Agenda, Slots: j.Slots, Memory: j.Memory,
		Tags: []string{}, Weight: j.Weight, Fairshare: j.Fairshare, VTime: j.VTime, Points: j.Points, Resources: j.Takes,
		Global: j.Global, Moved: j.Moved, Operator: j.Operator,
	}
	out.Pending = j.Pending
	out.Barred = j.Barred
	out.Narrowed = j.Narrowed
	out.Unmeasured = j.Unmeasured
	out.Shrunk = j.Shrunk
	out.ItemSeconds = j.ItemSeconds
	out.Unknown = j.Unknown
	out.MostSlots = j.MostSlots
	out.Alone = j.Alone
	out.HostOrder = j.Order
	for _, kind := range []facts.Kind{facts.Primary, facts.Secondary} {
		if j.Beside[kind] {
			out.Beside = append(out.Beside, kind.String())
		}
	}
	if j.Remaining >= 0 {
		out.Remaining = new(j.Remaining)
	}
	if j.Eligible != nil {
		out.Hosts = Each(j.Eligible, func(h int) string { return s.Hosts[h].Name })
	}
	return out
}
