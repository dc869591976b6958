package translate

import (
	"qb/api"
	"qb/supervisor/planner"
)

// Snapshot is the farm in the form that qb plan reads.
func Snapshot(s planner.Snapshot) api.SnapshotDoc {
	doc := api.SnapshotDoc{
		Now: s.Now, Cluster: s.Cluster, Resources: s.Resources,
		Policy: api.SnapshotPolicy{
			Mode: s.Policy.Mode, Preempt: s.Policy.Preempt, DefaultMaxCPUs: s.Policy.DefaultMaxCPUs, MaxCPUsLimit: s.Policy.MaxCPUsLimit,
			ShareUnit: s.Policy.ShareUnit, Promote: s.Policy.Promote, Order: OrEmpty(s.Policy.Order),
		},
		Hosts: make([]api.SnapshotHost, 0, len(s.Hosts)), Jobs: make([]api.SnapshotJob, 0, len(s.Jobs)),
		Running: make([]api.SnapshotInstance, 0, len(s.Running)),
	}
	for _, h := range s.Hosts {
		host := api.SnapshotHost{Name: h.Name, Slots: h.Slots, Tags: OrEmpty(h.Tags), Cluster: h.Cluster, Up: h.Up, Resources: h.Resources}
		if h.Memory >= 0 {
			host.Memory = new(h.Memory)
		}
		doc.Hosts = append(doc.Hosts, host)
	}
	for _, j := range s.Jobs {
		doc.Jobs = append(doc.Jobs, snapshotJob(s, j))
	}
	for _, i := range s.Running {
		instance := api.SnapshotInstance{
			ID: i.ID, Job: s.Jobs[i.Job].ID, Kind: i.Kind.String(), Host: s.Hosts[i.Host].Name, Started: i.Started, Protected: i.Protected,
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

func snapshotJob(s planner.Snapshot, j planner.SnapJob) api.SnapshotJob {
	out := api.SnapshotJob{
		ID: j.ID, User: j.User, Priority: j.Priority, Submit: j.Submit, Cluster: j.Cluster, CPUs: j.CPUs,
		MaxCPUs: j.MaxCPUs, Agenda: j.Agenda, Slots: j.Slots, Memory: j.Memory,
		Tags: []string{}, Weight: j.Weight, Fairshare: j.Fairshare, VTime: j.VTime, Points: j.Points, Resources: j.Takes,
	}
	if j.Remaining >= 0 {
		out.Remaining = new(j.Remaining)
	}
	if j.Eligible != nil {
		out.Hosts = make([]string, 0, len(j.Eligible))
		for _, h := range j.Eligible {
			out.Hosts = append(out.Hosts, s.Hosts[h].Name)
		}
	}
	return out
}
