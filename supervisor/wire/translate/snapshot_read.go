package translate

import (
	"math"
	"slices"
	"strconv"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/share/planner"
)

// SnapshotOf is the inverse of Snapshot, for a document that api.ReadSnapshot has read.
func SnapshotOf(doc *api.SnapshotDoc) planner.Snapshot {
	s := planner.Snapshot{Now: doc.Now, Cluster: doc.Cluster, Policy: sharePolicyOfDoc(&doc.Policy),
		Resources: doc.Resources, Limits: doc.Limits}
	if doc.Slots != nil {
		s.Hosts = []planner.SnapHost{{Name: "pool", Slots: *doc.Slots, Memory: -1, Cluster: doc.Cluster, Up: true}}
	}
	hosts, jobs := make(map[string]int), make(map[string]int)
	for i, h := range doc.Hosts {
		hosts[h.Name] = i
		host := planner.SnapHost{Name: h.Name, Slots: h.Slots, Memory: -1, Tags: h.Tags, Cluster: h.Cluster, Up: h.Up,
			Resources: h.Resources,
			Ending:    h.Ending, EndingMemory: h.EndingMemory}
		if h.Memory != nil {
			host.Memory = *h.Memory
		}
		s.Hosts = append(s.Hosts, host)
	}
	for i := range doc.Jobs {
		jobs[doc.Jobs[i].ID] = i
		s.Jobs = append(s.Jobs, snapJobOfDoc(&doc.Jobs[i], s.Hosts, hosts))
	}
	presentOfDoc(&s, doc, hosts, jobs)
	for i := range doc.Running {
		s.Running = append(s.Running, snapInstanceOfDoc(&doc.Running[i], doc.Now, hosts, jobs))
	}
	return s
}

// presentOfDoc takes over what the choice of hosts goes by.
func presentOfDoc(s *planner.Snapshot, doc *api.SnapshotDoc, hosts, jobs map[string]int) {
	machines := map[int]int{}
	for _, h := range doc.Hosts {
		if p := h.Present; p != nil {
			var ends []planner.End
			for _, e := range p.Ends {
				ends = append(ends, planner.End{At: e.At, Sure: e.NotBefore, Slots: e.Slots, Holds: e.Holds})
			}
			if _, known := machines[p.Machine]; !known {
				machines[p.Machine] = len(machines)
			}
			s.Present = append(s.Present, planner.Present{
				Free: p.Free, Used: p.Used, Trial: p.Trial, Heard: p.Heard, Limited: p.Limited, Full: p.Full,
				Machine: machines[p.Machine],
				Own:     p.Own, Shared: p.Shared, Left: p.Left, EndingSlots: p.EndingSlots, EndingMemory: p.EndingMemory,
				Coming: p.Coming,
				Ends:   ends,
			})
			s.Left = doc.Left
			s.Coming = doc.Coming
			s.Urgent = doc.Urgent
		}
	}
	for _, order := range doc.Orders {
		if s.Orders == nil {
			s.Orders = map[string]planner.HostOrder{}
		}
		terms := make(planner.HostOrder, len(order.Terms))
		for n, term := range order.Terms {
			terms[n] = planner.OrderTerm{More: term.More, PerSlot: term.PerSlot, Values: make([]fit.OrderValue, len(s.Hosts))}
			for _, v := range term.Values {
				terms[n].Values[hosts[v.Host]] = fit.OrderValue{Has: true, Number: v.Number, Text: v.Text}
			}
		}
		s.Orders[order.Name] = terms
	}
	if r := doc.Reserved; r != nil {
		s.Reserved = &planner.Reserved{Host: hosts[r.Host], Job: -1, Sure: r.Sure, Primaries: r.Primaries}
		if r.Job != "" {
			s.Reserved.Job = jobs[r.Job]
		}
	}
}

func sharePolicyOfDoc(p *api.SnapshotPolicy) planner.SharePolicy {
	return planner.SharePolicy{
		Mode: p.Mode, Preempt: p.Preempt, DefaultMaxCPUs: p.DefaultMaxCPUs, MaxCPUsLimit: p.MaxCPUsLimit,
		ShareUnit: p.ShareUnit,
		Promote:   p.Promote, Order: p.Order, DefaultPriority: p.DefaultPriority, Placement: p.Placement,
		DefaultMemory: p.DefaultMemory, MinRun: p.MinRun, Settle: p.Settle,
		MaxLost: p.MaxLost, PrimaryPreempt: p.PrimaryPreempt, Reserve: p.Reserve,
	}
}

func snapJobOfDoc(j *api.SnapshotJob, hosts []planner.SnapHost, index map[string]int) planner.SnapJob {
	job := planner.SnapJob{ID: j.ID, User: j.User, Priority: j.Priority, Submit: j.Submit, Cluster: j.Cluster,
		CPUs:    j.CPUs,
		MaxCPUs: j.MaxCPUs, Remaining: -1, Agenda: j.Agenda, Slots: j.Slots, Memory: j.Memory, Weight: j.Weight,
		Fairshare: j.Fairshare, VTime: j.VTime, Points: j.Points, Takes: j.Resources, Global: j.Global, Moved: j.Moved,
		Operator: j.Operator}
	if n, err := strconv.ParseInt(j.ID, 10, 64); err == nil {
		job.Num = n // as the farm has it, so that 10 comes behind 9
	}
	job.Pending = j.Pending
	job.Barred = j.Barred
	job.Narrowed = j.Narrowed
	job.Unmeasured = j.Unmeasured
	job.Shrunk = j.Shrunk
	job.ItemSeconds = j.ItemSeconds
	job.Unknown = j.Unknown
	job.MostSlots = j.MostSlots
	job.Alone = j.Alone
	job.Order = j.HostOrder
	for _, kind := range j.Beside {
		job.Beside[facts.ParseKind(kind)] = true
	}
	if j.Remaining != nil {
		job.Remaining = *j.Remaining
	}
	if j.Hosts == nil && len(j.Tags) == 0 {
		return job
	}
	named := make([]bool, len(hosts))
	for _, name := range j.Hosts {
		named[index[name]] = true
	}
	job.Eligible = []int{}
	for h, host := range hosts {
		lacks := func(tag string) bool { return !slices.Contains(host.Tags, tag) }
		if (j.Hosts == nil || named[h]) && !slices.ContainsFunc(j.Tags, lacks) {
			job.Eligible = append(job.Eligible, h)
		}
	}
	return job
}

// snapInstanceOfDoc finds the host of an instance by name; in one pool there is but one, the first.
func snapInstanceOfDoc(i *api.SnapshotInstance, now float64, hosts, jobs map[string]int) planner.SnapInstance {
	in := planner.SnapInstance{ID: i.ID, Job: jobs[i.Job], Host: hosts[i.Host], Kind: facts.ParseKind(i.Kind),
		Started: i.Started, Protected: i.Protected, Draining: i.Draining, Slots: int32(min(i.Slots, math.MaxInt32)),
		Stood: i.Stood, Holds: i.Holds,
		Number: int32(min(i.Number, math.MaxInt32)), Spared: i.Spared, Suspended: i.Suspended, Released: i.Released,
		Expires: i.Expires}
	if i.Memory != nil {
		in.Memory = *i.Memory
	}
	if i.ItemStarted != nil {
		in.HasItem = true
		in.ItemStarted = *i.ItemStarted
		in.LostWork = max(0, now-*i.ItemStarted)
	}
	if i.LostWork != nil {
		in.LostWork = *i.LostWork
		if !in.HasItem {
			in.HasItem, in.ItemStarted = true, now-*i.LostWork
		}
	}
	return in
}
