package translate

import (
	"qb/api"
	"qb/supervisor/planner"
)

// Snapshot is the farm in the form that qb plan reads.
func Snapshot(s planner.Snapshot) api.SnapshotDoc {
	doc := api.SnapshotDoc{
		Now: s.Now, Cluster: s.Cluster, Resources: s.Resources, Limits: s.Limits,
		Policy: api.SnapshotPolicy{
			Mode: s.Policy.Mode, Preempt: s.Policy.Preempt, DefaultMaxCPUs: s.Policy.DefaultMaxCPUs, MaxCPUsLimit: s.Policy.MaxCPUsLimit,
			ShareUnit: s.Policy.ShareUnit, Promote: s.Policy.Promote, Order: OrEmpty(s.Policy.Order), DefaultPriority: s.Policy.DefaultPriority,
		},
		Hosts:   Each(s.Hosts, snapshotHost),
		Jobs:    Each(s.Jobs, func(j planner.SnapJob) api.SnapshotJob { return snapshotJob(s, j) }),
		Running: make([]api.SnapshotInstance, 0, len(s.Running)),
	}
	for _, i := range s.Running {
		instance := api.SnapshotInstance{
			ID: i.ID, Job: s.Jobs[i.Job].ID, Kind: i.Kind.String(), Host: s.Hosts[i.Host].Name, Started: i.Started, Protected: i.Protected, Draining: i.Draining,
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

func snapshotHost(h planner.SnapHost) api.SnapshotHost {
	host := api.SnapshotHost{Name: h.Name, Slots: h.Slots, Tags: OrEmpty(h.Tags), Cluster: h.Cluster, Up: h.Up, Resources: h.Resources}
	if h.Memory >= 0 {
		host.Memory = new(h.Memory)
	}
	return host
}

func snapshotJob(s planner.Snapshot, j planner.SnapJob) api.SnapshotJob {
	out := api.SnapshotJob{
		ID: j.ID, User: j.User, Priority: j.Priority, Submit: j.Submit, Cluster: j.Cluster, CPUs: j.CPUs,
		MaxCPUs: j.MaxCPUs, Agenda: j.Agenda, Slots: j.Slots, Memory: j.Memory,
		Tags: []string{}, Weight: j.Weight, Fairshare: j.Fairshare, VTime: j.VTime, Points: j.Points, Resources: j.Takes, Global: j.Global, Moved: j.Moved, Operator: j.Operator,
	}
	if j.Remaining >= 0 {
		out.Remaining = new(j.Remaining)
	}
	if j.Eligible != nil {
		out.Hosts = Each(j.Eligible, func(h int) string { return s.Hosts[h].Name })
	}
	return out
}
