package translate

import (
	"encoding/json"
	"strconv"
	"time"

	"qb/api"
	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/store"
)

// Job is a job on the wire; its command is shown if withCommand says so.
func Job(v facts.JobView, withCommand bool) (j api.Job) {
	FillJob(&j, &v, withCommand)
	return j
}

// FillJob fills j, which is empty, with what a listing shows of a job. Its command is shown if withCommand says so.
func FillJob(j *api.Job, v *facts.JobView, withCommand bool) {
	*j = api.Job{
		ID: int64(v.ID), User: v.User, Status: v.Status, Progress: v.Progress, Code: string(v.Code), Params: Params(v.Params),
		Reason:           v.Reason,
		MaxCPUsEffective: v.MaxCPUsEffective,
		Instances:        api.InstanceCounts{Primary: v.Primary, Secondary: v.Secondary, Draining: v.Draining},
		Items:            api.ItemCounts(v.Items), FailedAttempts: v.FailedAttempts,
		SubmittedAt: Time(v.SubmittedAt), StartedAt: timeOrNil(v.StartedAt), FinishedAt: timeOrNil(v.FinishedAt),
		Agenda: v.Agenda.Range != "", Version: v.Version, Orders: ordersOf(v),
		Memory: api.JobMemory{Need: v.Memory.Need, LargestPeak: v.Memory.LargestPeak, Returned: v.Memory.Returned,
			RanOut: v.Memory.RanOut},
	}
	j.GlobalOrder = v.GlobalOrder
	j.LocalOrder = v.LocalOrder
	j.OperatorPriority = v.OperatorPriority
	j.Before = IDs(v.Before())
	showAttributes(j, &v.JobFacts)
	j.Memory.Requested = orNil(v.Memory.Requested)
	j.MeanItemSeconds = orNil(v.MeanItemSeconds)
	j.EstimatedItem = orNil(v.EstimatedItemSeconds)
	j.Type = v.Type()
	if e := v.Learned; e.Known() {
		l := learned(e)
		j.Learned = &l
	}
	if !withCommand {
		j.Command = []string{}
		j.Preflights = []string{}
		j.Postflights = []string{}
		j.AgendaPreflights = []string{}
		j.AgendaPostflights = []string{}
		j.Validate = []string{}
		j.PathMap, j.MailAddress = []string{}, []string{}
	}
}

// ordersOf shows the large orders on a job, the oldest first.
func ordersOf(v *facts.JobView) []api.JobOrder {
	list := make([]api.JobOrder, 0, len(v.Carried)+len(v.Orders))
	add := func(o facts.ActionFacts, state string) {
		list = append(list, api.JobOrder{Number: o.Number, Action: string(o.Action), User: o.By, At: Time(o.At), State: state,
			Affected: o.Affected, Done: o.Done})
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
	return new(max(*w, -1))
}

// Time is a time as the rows keep it, so that the live view and the rows say the same.
func Time(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(Time(t))
}

// orNil returns nil for the zero value.
func orNil[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// Attempt is an attempt on the wire; name is its item's.
func Attempt(a facts.AttemptFacts, name string, found facts.Found) api.Attempt {
	return api.Attempt{
		Highlights: found.Highlights, OutputPaths: found.OutputPaths, Result: json.RawMessage(found.Result),
		Job: int64(a.Job), Item: name, Number: int(a.Item), Attempt: a.Number, State: string(a.State), Kind: a.Kind.String(),
		Host: string(a.Host), Instance: InstanceName(a.Job, a.Instance), ExitCode: a.ExitCode, Signal: a.Signal,
		Code: string(a.Reason), Params: Params(a.Params), Reason: a.Cause,
		StartedAt: Time(a.StartedAt), FinishedAt: timeOrNil(a.EndedAt), CPUSeconds: a.CPU, PeakMemory: a.Peak,
		Overuse: a.Overuse(), Ahead: a.Ahead(),
	}
}

// Params are the parameters of a code on the wire, nil if it has none.
func Params(p facts.Params) *api.CodeParams {
	if p == (facts.Params{}) {
		return nil
	}
	return &api.CodeParams{
		By: p.By, Host: string(p.Host), Job: int64(p.Job), User: p.User, Share: p.Share, Outcome: p.Outcome,
		Resource: p.Resource, Option: p.Option,
		Limit: p.Limit, Earlier: p.Earlier, Seconds: p.Seconds, Largest: p.Largest, Offer: p.Offer,
		State: p.State, Hosts: p.Hosts, Users: p.Users, Failed: p.Failed, Items: p.Items, End: string(p.End),
		ExitCode: p.ExitCode, Signal: p.Signal, Path: p.Path, Label: p.Label, Folder: p.Folder, Until: p.Until, Wait: p.Wait,
	}
}

// InstanceName is JOB.INSTANCE.
func InstanceName(job facts.JobID, n int) string {
	return strconv.FormatInt(int64(job), 10) + "." + strconv.Itoa(n)
}

// Host is a host on the wire.
func Host(v *message.HostView) api.Host {
	h := api.Host{
		Name: string(v.ID), State: v.State, Slots: api.SlotCounts{Total: v.Slots, Used: v.Used, Foreign: v.Away,
			Locked: v.HostFacts.Locked},
		Memory:  api.HostMemory{Total: v.Memory, Available: v.Available, Promised: v.Promised, PerIdle: v.PerIdle},
		Swap:    api.HostSwap{Total: v.Swap.Total, Used: v.Swap.Used, Rate: v.Swap.Rate},
		Cluster: v.Cluster, Groups: OrEmpty(v.Groups), Resources: v.Resources, Properties: v.Properties,
		Code: string(v.Code), Remark: v.Remark, Locked: v.LockedBy != "", LastSeenAt: Time(v.SeenAt),
		MachineID: facts.Short(v.MachineID), BootID: facts.Short(v.Boot), StateID: facts.Short(v.StateID),
		AvoidedBy: Each(v.Avoided[:min(len(v.Avoided), mostAvoidances)], hostAvoidance),
		Claims:    Each(v.Claims, hostClaim), Instances: Each(v.Instances, hostInstance),
	}
	if h.Resources == nil {
		h.Resources = map[string]int{}
	}
	if h.Properties == nil {
		h.Properties = map[string]string{}
	}
	return h
}

// mostAvoidances limits the listed jobs that get no instance on a host for a while.
const mostAvoidances = 20

func hostAvoidance(a fit.Avoidance) api.HostAvoidance {
	return api.HostAvoidance{User: a.User, Folder: a.Folder, Job: int64(a.Job), Code: string(a.Code), Failed: a.Failed,
		Until: Time(a.Until), Text: a.Text}
}

func hostClaim(c agents.Claim) api.HostClaim {
	return api.HostClaim{Name: string(c.Name), MachineID: c.MachineID, BootID: c.Boot, StateID: c.StateID, Code: c.Code,
		Text: c.Text, Since: Time(c.First)}
}

func hostInstance(i message.InstanceView) api.HostInstance {
	return api.HostInstance{
		Job: int64(i.Job), Kind: i.Kind.String(), Item: i.ItemName, Next: i.Next,
		Number: int(i.Attempt.Item), Attempt: i.Attempt.Number,
		Instance: i.Number, Slots: i.Slots, Memory: i.Memory, Holds: i.Holds, Devices: i.Devices,
		State: i.State, ItemStartedAt: timeOrNil(i.ItemStarted), SuspendedAt: timeOrNil(i.SuspendedAt),
		SuspendedSeconds: i.Suspended,
	}
}

// PendingHost is a host that waits for approval: of it only name and key are known.
func PendingHost(name, key string, since time.Time) *message.HostView {
	return &message.HostView{HostFacts: facts.HostFacts{ID: facts.HostID(name), SeenAt: since}, State: "pending",
		Code:   facts.ReasonAwaitsApproval,
		Remark: "key " + key + "; qbadmin worker -approve lets it join, -remove refuses it"}
}

// Each is a list of what shape makes of each member; it is never nil.
func Each[From, To any](list []From, shape func(From) To) []To {
	out := make([]To, 0, len(list))
	for _, one := range list {
		out = append(out, shape(one))
	}
	return out
}

// IDs are jobs' ids on the wire; nil: none.
func IDs(jobs []facts.JobID) []int64 {
	var ids []int64
	for _, id := range jobs {
		ids = append(ids, int64(id))
	}
	return ids
}

// OrEmpty is never nil, so that it is [] in JSON.
func OrEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// Event shows a line of a job's history; name tells an item's name from its number.
func Event(e facts.EventFacts, name func(facts.ItemNo) string) api.Event {
	if e.Params.By == "" {
		e.Params.By = e.By
	}
	out := api.Event{At: Time(e.At), Type: e.Type, Cause: e.Cause, Code: string(e.Reason), Params: Params(e.Params),
		Job: orNil(int64(e.Job)), Host: orNil(string(e.Host))}
	if e.By != "" && e.Cause == "" {
		out.Cause = "by " + e.By
	} else if e.By != "" {
		out.Cause += " (by " + e.By + ")"
	}
	if e.Item >= 0 && e.Job != 0 {
		out.Item = new(name(e.Item))
	}
	if e.Instance >= 0 && e.Job != 0 {
		out.Instance = new(InstanceName(e.Job, e.Instance))
	}
	return out
}

// Token is what listings show of a token.
func Token(t store.Token) api.TokenInfo {
	return api.TokenInfo{
		ID: t.ID, User: t.User, Role: t.Role, CreatedAt: t.CreatedAt.UTC(), ExpiresAt: t.ExpiresAt.UTC(),
		LastUsed: timeOrNil(t.LastUsed), Revoked: t.Revoked, Name: t.Name, UsesLeft: t.UsesLeft, SessionOf: t.SessionOf,
	}
}

const (
	maxListed = 8 << 10 // of a job's command or range in a list; the SQL has it for the command, too
)

// Shorten leaves a long command and a long range out of a list.
func Shorten(j *api.Job) {
	n := 0
	for _, word := range j.Command {
		n += len(word)
	}
	if n > maxListed {
		j.Command = []string{}
	}
	if len(j.Range) > maxListed {
		j.Range = ""
	}
}

// Changes are what a change made of a job's attributes.
func Changes(all []facts.Changed) (changes []api.Change) {
	for _, c := range all {
		changes = append(changes, api.Change(c))
	}
	return changes
}
