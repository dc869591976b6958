package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/supervisor/facts"
	"qb/supervisor/planner"
)

// maxSnapshotBytes bounds a snapshot; 100,000 running instances take about 15 MB.
const maxSnapshotBytes = 256 << 20

func newPlanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "plan FILE",
		Short: "Print how SmartShare would divide the slots of a snapshot",
		Long: "Read a snapshot of a farm, as qb snapshot prints it, and print how SmartShare would divide its slots,\n" +
			"as JSON. The file - is standard input. No farm is changed.",
		Args: commandline.WantArgs(1, 1, "file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := readSnapshotFile(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			doc, err := api.ReadSnapshot(data)
			if err != nil {
				return api.Errorf(api.KindInvalid, "%s: %v", snapshotName(args[0]), err)
			}
			s := snapshotOfDoc(&doc)
			text, err := json.MarshalIndent(balanceDoc(&s, planner.Balance(s)), "", "  ")
			if err != nil {
				return fmt.Errorf("writing JSON: %w", err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), output.EscapeJSON(string(text)))
			return err
		},
	}
}

func snapshotName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

func readSnapshotFile(name string, stdin io.Reader) ([]byte, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read the snapshot: %w", err)
		}
		defer f.Close()
		stdin = f
	}
	data, err := io.ReadAll(io.LimitReader(stdin, maxSnapshotBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the snapshot from %s: %w", snapshotName(name), err)
	}
	if len(data) > maxSnapshotBytes {
		return nil, api.Errorf(api.KindLimit, "%s: a snapshot has at most %d bytes", snapshotName(name), maxSnapshotBytes)
	}
	return data, nil
}

// snapshotOfDoc turns a snapshot that has been read into the farm's own form.
func snapshotOfDoc(doc *api.SnapshotDoc) planner.Snapshot {
	s := planner.Snapshot{Now: doc.Now, Cluster: doc.Cluster, Policy: planner.SharePolicy(doc.Policy), Resources: doc.Resources, Limits: doc.Limits}
	if doc.Slots != nil {
		s.Hosts = []planner.SnapHost{{Name: "pool", Slots: *doc.Slots, Memory: -1, Cluster: doc.Cluster, Up: true}}
	}
	hosts, jobs := make(map[string]int), make(map[string]int)
	for i, h := range doc.Hosts {
		hosts[h.Name] = i
		host := planner.SnapHost{Name: h.Name, Slots: h.Slots, Memory: -1, Tags: h.Tags, Cluster: h.Cluster, Up: h.Up, Resources: h.Resources}
		if h.Memory != nil {
			host.Memory = *h.Memory
		}
		s.Hosts = append(s.Hosts, host)
	}
	for i := range doc.Jobs {
		jobs[doc.Jobs[i].ID] = i
		s.Jobs = append(s.Jobs, snapJobOfDoc(&doc.Jobs[i], s.Hosts, hosts))
	}
	for i := range doc.Running {
		s.Running = append(s.Running, snapInstanceOfDoc(&doc.Running[i], doc.Now, hosts, jobs))
	}
	return s
}

func snapJobOfDoc(j *api.SnapshotJob, hosts []planner.SnapHost, index map[string]int) planner.SnapJob {
	job := planner.SnapJob{ID: j.ID, User: j.User, Priority: j.Priority, Submit: j.Submit, Cluster: j.Cluster, CPUs: j.CPUs,
		MaxCPUs: j.MaxCPUs, Remaining: -1, Agenda: j.Agenda, Slots: j.Slots, Memory: j.Memory, Weight: j.Weight,
		Fairshare: j.Fairshare, VTime: j.VTime, Points: j.Points, Takes: j.Resources, Global: j.Global, Moved: j.Moved, Operator: j.Operator}
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
		Started: i.Started, Protected: i.Protected, Draining: i.Draining}
	if i.Memory != nil {
		in.Memory = *i.Memory
	}
	if i.ItemStarted != nil {
		in.HasItem, in.ItemStarted, in.LostWork = true, *i.ItemStarted, max(0, now-*i.ItemStarted)
	}
	if i.LostWork != nil {
		in.LostWork = *i.LostWork
		if !in.HasItem {
			in.HasItem, in.ItemStarted = true, now-*i.LostWork
		}
	}
	return in
}

// balanceDoc is a plan in the words of the contract.
func balanceDoc(s *planner.Snapshot, p planner.Plan) api.BalanceDoc {
	instances := func(list []int) []string {
		ids := make([]string, len(list))
		for n, i := range list {
			ids[n] = s.Running[i].ID
		}
		return ids
	}
	doc := api.BalanceDoc{Jobs: make(map[string]api.BalanceJob), FreeSlots: p.Free, Stop: instances(p.Stop),
		Promoted: instances(p.Promoted), Demoted: instances(p.Demoted), Leaving: instances(p.Leaving),
		Order: make([]string, len(p.Order)), LostWork: p.LostWork}
	for n, j := range p.Order {
		doc.Order[n] = s.Jobs[j].ID
	}
	for j, job := range p.Jobs {
		doc.Jobs[s.Jobs[j].ID] = api.BalanceJob{Primary: job.Primary, Secondary: job.Secondary, Floor: job.Floor,
			Ceiling: job.Ceiling, StartPrimary: job.StartPrimary, StartSecondary: job.StartSecondary, Stop: job.Stop}
	}
	if p.Immediate != nil {
		doc.Immediate = make(map[string][2]int)
		for j, counts := range p.Immediate {
			doc.Immediate[s.Jobs[j].ID] = [2]int{counts.Primary, counts.Secondary}
		}
	}
	return doc
}
