package supervisor

import (
	"strconv"
	"time"

	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/farm"
	"qb/supervisor/outbox"
	"qb/supervisor/problem"
	"qb/supervisor/settings"
)

func jobOf(v facts.JobView, p Principal) (j api.Job) {
	showJob(&j, &v, p)
	return j
}

// showJob fills j, which is empty, with what a listing shows of a job. The command is shown to those who may see it.
func showJob(j *api.Job, v *facts.JobView, p Principal) {
	*j = api.Job{
		ID: int64(v.ID), User: v.User, Status: v.Status, Code: string(v.Code), Params: paramsOf(v.Params), Reason: v.Reason,
		MaxCPUsEffective: v.MaxCPUsEffective,
		Instances:        api.InstanceCounts{Primary: v.Primary, Secondary: v.Secondary, Draining: v.Draining},
		Items:            api.ItemCounts(v.Items),
		SubmittedAt:      shown(v.SubmittedAt), StartedAt: timeOrNil(v.StartedAt), FinishedAt: timeOrNil(v.FinishedAt),
		Type: "cmdline", Agenda: v.Agenda.Range != "", Version: v.Version, PGrp: int64(v.PGrp), Orders: ordersOf(v),
		Memory: api.JobMemory{Need: v.Memory.Need, LargestPeak: v.Memory.LargestPeak, Returned: v.Memory.Returned, RanOut: v.Memory.RanOut},
	}
	showAttributes(j, &v.JobFacts)
	if asked := v.Memory.Requested; asked > 0 {
		j.Memory.Requested = &asked
	}
	if j.Agenda {
		j.Type = "cmdrange"
	}
	if v.MeanItemSeconds > 0 {
		mean := v.MeanItemSeconds
		j.MeanItemSeconds = &mean
	}
	if v.EstimatedItemSeconds > 0 {
		estimate := v.EstimatedItemSeconds
		j.EstimatedItem = &estimate
	}
	if !p.seesAll() && p.User != v.User {
		j.Command = []string{}
	}
}

// ordersOf shows the large orders on a job, the oldest first.
func ordersOf(v *facts.JobView) []api.JobOrder {
	list := make([]api.JobOrder, 0, len(v.Carried)+len(v.Orders))
	add := func(o facts.OrderFacts, state string) {
		list = append(list, api.JobOrder{Number: o.Number, Action: string(o.Action), User: o.By, At: shown(o.At), State: state, Affected: o.Affected, Done: o.Done})
	}
	for _, o := range v.Carried {
		add(o, "done")
	}
	for _, o := range v.Orders {
		if o.Begun.IsZero() {
			add(o, "waiting")
		} else {
			add(o, "active")
		}
	}
	return list
}

// clampWidth shows any negative width as -1.
func clampWidth(w *int) *int {
	if w == nil {
		return nil
	}
	n := max(*w, -1)
	return &n
}

// shown is a time as the rows keep it, so that the live view and the rows say the same.
func shown(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = shown(t)
	return &t
}

func attemptOf(a facts.AttemptFacts, name string) api.Attempt {
	return api.Attempt{
		Job: int64(a.Job), Item: name, Number: int(a.Item), Attempt: a.Number, State: string(a.State), Kind: a.Kind.String(),
		Host: string(a.Host), Instance: instanceName(a.Job, a.Instance), ExitCode: a.ExitCode, Signal: a.Signal, Code: string(a.Reason), Params: paramsOf(a.Params), Reason: a.Cause,
		StartedAt: shown(a.StartedAt), FinishedAt: timeOrNil(a.EndedAt), CPUSeconds: a.CPU, PeakMemory: a.Peak,
		Overuse: a.Overuse(),
	}
}

// paramsOf are the parameters of a code on the wire, nil if it has none.
func paramsOf(p facts.Params) *api.CodeParams {
	if p == (facts.Params{}) {
		return nil
	}
	return &api.CodeParams{
		By: p.By, Host: string(p.Host), Job: int64(p.Job), User: p.User, Share: p.Share, Outcome: p.Outcome, Resource: p.Resource, Option: p.Option,
		Limit: p.Limit, Earlier: p.Earlier, Seconds: p.Seconds, Largest: p.Largest, Offer: p.Offer,
	}
}

func instanceName(job facts.JobID, n int) string {
	return strconv.FormatInt(int64(job), 10) + "." + strconv.Itoa(n)
}

func hostOf(v farm.HostView) api.Host {
	h := api.Host{
		Name: string(v.ID), State: v.State, Slots: api.SlotCounts{Total: v.Slots, Used: v.Used},
		Memory:  api.HostMemory{Total: v.Memory, Available: v.Available, Promised: v.Promised, PerIdle: v.PerIdle},
		Cluster: v.Cluster, Groups: orEmpty(v.Groups), Resources: v.Resources, Properties: v.Properties,
		Remark: v.Remark, Locked: v.LockedBy != "", LastSeenAt: shown(v.SeenAt), Instances: make([]api.HostInstance, 0, len(v.Instances)),
		MachineID: facts.Short(v.MachineID), BootID: facts.Short(v.Boot), StateID: facts.Short(v.StateID), Claims: make([]api.HostClaim, 0, len(v.Claims)),
	}
	for _, c := range v.Claims {
		h.Claims = append(h.Claims, api.HostClaim{Name: string(c.Name), MachineID: c.MachineID, BootID: c.Boot, StateID: c.StateID, Code: c.Code, Text: c.Text, Since: shown(c.First)})
	}
	if h.Resources == nil {
		h.Resources = map[string]int{}
	}
	if h.Properties == nil {
		h.Properties = map[string]string{}
	}
	for _, i := range v.Instances {
		h.Instances = append(h.Instances, api.HostInstance{
			Job: int64(i.Job), Kind: i.Kind.String(), Item: i.ItemName, Number: int(i.Attempt.Item), Attempt: i.Attempt.Number,
			Instance: i.Number, Slots: i.Slots, Memory: i.Memory, Holds: i.Holds, Devices: i.Devices,
		})
	}
	return h
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// historyOf shows a line of a job's history; name tells an item's name from its number.
func historyOf(e facts.EventFacts, name func(facts.ItemNo) string) api.Event {
	out := api.Event{At: shown(e.At), Type: e.Type, Cause: e.Cause, Code: string(e.Reason), Params: paramsOf(e.Params)}
	if e.By != "" && e.Cause == "" {
		out.Cause = "by " + e.By
	} else if e.By != "" {
		out.Cause += " (by " + e.By + ")"
	}
	if e.Job != 0 {
		id := int64(e.Job)
		out.Job = &id
	}
	if e.Item >= 0 && e.Job != 0 {
		item := name(e.Item)
		out.Item = &item
	}
	if e.Instance >= 0 && e.Job != 0 {
		instance := instanceName(e.Job, e.Instance)
		out.Instance = &instance
	}
	if e.Host != "" {
		host := string(e.Host)
		out.Host = &host
	}
	return out
}

// syncOf is a worker's word as the farm hears it.
func syncOf(t outbox.Ticket, s *api.Sync, now time.Time) farm.WorkerSynced {
	e := farm.WorkerSynced{
		Ticket: t, Incarnation: s.Incarnation, Sequence: s.Sequence, Heard: s.Heard, Available: s.Memory.Available,
		Total: s.Memory.Total, Foreign: s.Memory.Foreign, Cap: s.Memory.Cap, Reserve: s.Memory.Reserve,
		Cores: s.Cores, RunAs: s.RunAs, AgentUser: s.AgentUser, Refusing: s.Refusing,
		Host: facts.HostFacts{
			ID: facts.HostID(s.Host), MachineID: s.MachineID, Boot: s.BootID, StateID: s.StateID, Slots: s.Slots,
			Memory: settings.Offered(s.Memory), Cluster: s.Cluster, Groups: s.Groups, Properties: s.Properties, Resources: s.Resources, SeenAt: now, Spec: s.Spec,
		},
		Jobs:      make(map[facts.JobID]int64, len(s.Jobs)),
		Instances: make([]farm.ReportedInstance, 0, len(s.Instances)),
		Finished:  make([]farm.ReportedEnd, 0, len(s.Finished)),
		Hold:      holdOf(s),
	}
	for _, j := range s.Jobs {
		e.Jobs[facts.JobID(j.Job)] = j.Version
	}
	for _, i := range s.Instances {
		e.Instances = append(e.Instances, farm.ReportedInstance{
			Job: facts.JobID(i.Job), Instance: i.Instance, Attempt: attemptID(i.Attempt), State: knownState(i.State), Memory: i.Memory,
		})
	}
	for _, f := range s.Finished {
		e.Finished = append(e.Finished, farm.ReportedEnd{
			Attempt: attemptID(f.Attempt), Outcome: problem.Clip(f.Outcome), ExitCode: f.ExitCode, Signal: f.Signal, Code: facts.Reason(f.Code), Reason: f.Reason,
			Wall: f.Wall, CPU: f.CPU, Peak: f.PeakMemory, Limit: f.Limit,
		})
	}
	return e
}

// knownState takes a state that a newer agent made up for running: that counts for nothing but that the
// instance is there.
func knownState(state string) string {
	switch state {
	case "starting", "running", "frozen", "stopping", "unkillable", "idle", "unknown":
		return state
	}
	return "running"
}

func holdOf(s *api.Sync) time.Duration {
	hold := time.Duration(s.HoldSeconds * float64(time.Second))
	return min(max(hold, 0), maxHold)
}

func attemptID(a api.AttemptID) facts.AttemptID {
	return facts.AttemptID{Job: facts.JobID(a.Job), Item: facts.ItemNo(a.Item), Number: a.Number}
}

func wireAttempt(a facts.AttemptID) api.AttemptID {
	return api.AttemptID{Job: int64(a.Job), Item: int(a.Item), Number: a.Number}
}

// syncReplyOf is the farm's answer on the wire; lease is what is left of it.
func syncReplyOf(r farm.SyncReply, epoch int64, lease time.Duration) *api.SyncReply {
	out := &api.SyncReply{
		Epoch: epoch, Sequence: r.Sequence, LeaseSeconds: lease.Seconds(), GraceSeconds: r.Grace.Seconds(),
		Instances: make([]api.Desired, 0, len(r.Instances)),
	}
	for _, i := range r.Instances {
		out.Instances = append(out.Instances, api.Desired{
			Instance: i.Instance, Kind: i.Kind.String(), Attempt: wireAttempt(i.Attempt), Version: i.Version, Slots: i.Slots,
			Name: i.Name, Start: i.Start, End: i.End, Step: i.Step, Env: i.Env,
			Memory: i.Memory, HardLimit: i.HardLimit, TimeLimit: i.TimeLimit,
		})
	}
	for _, j := range r.Specs {
		out.Jobs = append(out.Jobs, api.JobSpec{
			Job: int64(j.ID), Version: j.Version, Name: j.Name, User: j.User, Command: orEmpty(j.Command), Shell: j.Shell,
			Cwd: j.Cwd, Env: j.Env, Umask: j.Umask, Padding: j.Agenda.Padding, Agenda: j.Agenda.Range != "", PGrp: int64(j.PGrp),
		})
	}
	return out
}
