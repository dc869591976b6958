package translate

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"qb/api"
	"qb/internal/patterns"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/job/licences"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
)

// syncOf is a worker's report in the farm's form.
func syncOf(t outbox.Ticket, s *api.Sync, now time.Time) message.WorkerSynced {
	e := message.WorkerSynced{
		Ticket: t, Incarnation: s.Incarnation, Sequence: s.Sequence, Heard: s.Heard, Available: s.Memory.Available,
		Total: s.Memory.Total, Foreign: s.Memory.Foreign, Cap: s.Memory.Cap, Reserve: s.Memory.Reserve,
		Swap: message.Swap{Total: s.Swap.Total, Used: s.Swap.Used, Rate: s.Swap.Rate}, Away: s.ForeignSlots,
		KeptFor: s.KeptFor,
		Cores:   s.Cores, RunAs: s.RunAs, AgentUser: s.AgentUser, Owners: ownersOf(s.Owners), Refusing: s.Refusing,
		Host: facts.HostFacts{
			ID: facts.HostID(s.Host), MachineID: s.MachineID, Boot: s.BootID, StateID: s.StateID, Slots: s.Slots,
			Memory: settings.Offered(s.Memory), Cluster: s.Cluster, Groups: s.Groups, Properties: s.Properties,
			Resources: s.Resources, SeenAt: now, Spec: s.Spec,
		},
		Jobs:      make(map[facts.JobID]int64, len(s.Jobs)),
		Instances: Each(s.Instances, reportedInstance), Since: s.Since, Gone: Each(s.Gone, AttemptID), Digest: s.Digest,
		Differences: s.Differences,
		Finished:    Each(s.Finished, reportedEnd),
		Hold:        holdOf(s),
	}
	if s.Usage != nil {
		e.UsageNumber = s.Usage.Number
		for _, u := range s.Usage.Resources {
			e.Usage = append(e.Usage, licences.Report{Name: u.Name, Total: &u.Total, Outside: &u.Outside})
		}
	}
	for _, j := range s.Jobs {
		e.Jobs[facts.JobID(j.Job)] = j.Version
	}
	return e
}

func reportedInstance(i api.SyncInstance) message.ReportedInstance {
	return message.ReportedInstance{Job: facts.JobID(i.Job), Instance: i.Instance, Attempt: AttemptID(i.Attempt),
		State: knownState(i.State), Word: i.State, Memory: i.Memory, Progress: min(max(i.Progress, 0), 100),
		SuspensionID: i.SuspensionID}
}

func reportedEnd(f api.Finished) message.ReportedEnd {
	return message.ReportedEnd{
		Attempt: AttemptID(f.Attempt), Outcome: problem.Clip(f.Outcome), ExitCode: f.ExitCode, Signal: f.Signal,
		Code: facts.Reason(f.Code), Reason: f.Reason, Resource: problem.Clip(f.Resource),
		Wall: f.Wall, CPU: f.CPU, Peak: f.PeakMemory, Limit: f.Limit, Suspended: f.Suspended, InLease: f.InLease,
		Loaded: f.Loaded,
		Found: facts.Found{Highlights: kept(f.Highlights, patterns.MostHighlights, patterns.MaxHighlight),
			OutputPaths: kept(f.OutputPaths, patterns.MostPaths, patterns.MaxPath), Result: result(f.Result)},
	}
}

// result is what a program has reported of its item, "" if that is no JSON or too long: its worker has refused that.
func result(said json.RawMessage) string {
	if len(said) > api.MaxResult || !json.Valid(said) || strings.Contains(string(said), `\u0000`) {
		return ""
	}
	return string(said)
}

// kept bounds what a worker has found in an output.
func kept(list []string, most, length int) (bounded []string) {
	for _, text := range list[:min(len(list), most)] {
		if text = patterns.Clean(text, length); text != "" {
			bounded = append(bounded, text)
		}
	}
	return bounded
}

// knownState replaces a state that this version does not know by running: all that is certain is that the instance
// exists.
func knownState(state string) string {
	switch state {
	case "starting", "running", "frozen", "suspended", "stopping", "unkillable", "idle", "unloading", "unknown":
		return state
	}
	return "running"
}

func holdOf(s *api.Sync) time.Duration {
	hold := time.Duration(s.HoldSeconds * float64(time.Second))
	return min(max(hold, 0), maxHold)
}

// AttemptID is the id of an attempt that a worker names.
func AttemptID(a api.AttemptID) facts.AttemptID {
	return facts.AttemptID{Job: facts.JobID(a.Job), Item: facts.ItemNo(a.Item), Number: a.Number}
}

func wireAttempt(a facts.AttemptID) api.AttemptID {
	return api.AttemptID{Job: int64(a.Job), Item: int(a.Item), Number: a.Number}
}

// syncReplyOf is the farm's answer on the wire; lease is what is left of it.
func syncReplyOf(r message.SyncReply, epoch int64, lease time.Duration) *api.SyncReply {
	return &api.SyncReply{
		Epoch: epoch, Sequence: r.Sequence, Answer: r.Number, LeaseSeconds: lease.Seconds(),
		GraceSeconds: r.Grace.Seconds(),
		Instances:    Each(r.Instances, desired), Jobs: Each(r.Specs, jobSpec),
		Since: r.Since, Gone: Each(r.Gone, instanceID), Digest: r.Digest, Differences: r.Differences,
	}
}

func instanceID(i message.InstanceID) api.InstanceID {
	return api.InstanceID{Job: int64(i.Job), Instance: i.Instance}
}

func desired(i message.DesiredInstance) api.Desired {
	return api.Desired{
		Instance: i.Instance, Kind: i.Kind.String(), Attempt: wireAttempt(i.Attempt), Version: i.Version, Slots: i.Slots,
		Name: i.Name, Start: i.Start, End: i.End, Step: i.Step, Env: i.Env,
		Memory: i.Memory, HardLimit: i.HardLimit, TimeLimit: i.TimeLimit, Suspended: i.Suspended,
		SuspensionID: i.SuspensionID,
		NoLicence:    noLicence(i.NoLicence), Program: i.Program, Next: nextItem(i.Next),
	}
}

func nextItem(n *message.NextItem) *api.NextItem {
	if n == nil {
		return nil
	}
	return &api.NextItem{Attempt: wireAttempt(n.Attempt), Name: n.Name, Start: n.Start, End: n.End, Step: n.Step}
}

func jobSpec(j facts.JobFacts) api.JobSpec {
	return api.JobSpec{
		Job: int64(j.ID), Version: j.Version, Name: j.Name, User: j.User, UID: j.UID, Command: OrEmpty(j.Command),
		Shell: j.Shell,
		Cwd:   j.Cwd, Env: j.Env, Umask: j.Umask, Padding: j.Agenda.Padding, Agenda: j.Agenda.Range != "",
		PGrp:       int64(j.PGrp),
		Preflights: j.Preflights, Postflights: j.Postflights, AgendaPreflights: j.AgendaPreflights,
		AgendaPostflights: j.AgendaPostflights, Validate: j.Validate,
		RegexProgress: j.RegexProgress, RegexErrors: j.RegexErrors, RegexHighlights: j.RegexHighlights,
		LoadOnce:         j.LoadOnce(),
		RegexOutputPaths: j.RegexOutputPaths, ConvertPath: slices.Contains(j.Flags, facts.FlagConvertPath),
		PathMap: j.PathMap,
	}
}

// ReadSync checks a worker's report and converts it to the farm's event in the term of that epoch, without its ticket.
func ReadSync(s *api.Sync, epoch int64, now time.Time) (message.WorkerSynced, error) {
	if err := checkSync(s); err != nil {
		return message.WorkerSynced{}, err
	}
	e := syncOf(0, s, now)
	e.Registers = s.Epoch != epoch
	if e.Registers && e.Since != 0 {
		return message.WorkerSynced{}, api.Errorf(api.KindConflict, "%s", e.ListWanted())
	}
	return e, nil
}

// AnswerSync says the farm's answer on the wire. The lease it grants is shortened by the age of the last
// proof of the term, and without a young proof there is no answer: a leader that was replaced unknowingly
// must not lengthen anybody's lease. An answer that grants none leaves the lease as it is.
func AnswerSync(r message.SyncReply, term *api.Term, age time.Duration) (*api.SyncReply, error) {
	lease := max(0, r.Lease-age)
	if age >= store.TrustFor || (lease == 0 && r.Lease > 0) {
		return nil, problem.ErrStalled
	}
	reply := syncReplyOf(r, term.Epoch, lease)
	reply.Term = term
	return reply, nil
}

// ReadOnlySync is what a read-only term makes of a worker's report: a registration that changes nothing.
func ReadOnlySync(e message.WorkerSynced) message.WorkerSynced {
	e.Registers = true
	e.ReadOnly = true
	e.Finished = nil
	e.Hold = 0
	return e
}

// KeepRecords lists the ends that a worker has reported, so that the worker keeps their records.
func KeepRecords(reply *api.SyncReply, finished []api.Finished) {
	listed := make(map[api.AttemptID]bool, len(reply.Instances))
	for _, d := range reply.Instances {
		listed[d.Attempt] = true
	}
	for _, f := range finished {
		if !listed[f.Attempt] {
			reply.Instances = append(reply.Instances, api.Desired{Attempt: f.Attempt, Instance: f.Instance})
		}
	}
}

// checkSync looks at what the farm relies on; a worker's mistake must not pass for a fact.
func checkSync(s *api.Sync) error {
	for _, field := range []struct{ name, value string }{
		{"host", s.Host}, {"machine_id", s.MachineID}, {"boot_id", s.BootID}, {"state_id", s.StateID},
		{"incarnation", s.Incarnation},
	} {
		if field.value == "" {
			return problem.Invalid(field.name, "it is empty")
		}
		if err := CheckName(field.name, field.value); err != nil {
			return err
		}
	}
	texts := append([]string{s.Cluster, s.RunAs, s.AgentUser, s.Refusing, s.Version}, s.Groups...)
	if s.Owners != nil {
		texts = append(texts, s.Owners.LowUsers...)
	}
	for _, text := range texts {
		if err := CheckText("sync", text, facts.MaxPath); err != nil {
			return err
		}
	}
	for name, value := range s.Properties {
		if err := cmp.Or(CheckText("properties", name, facts.MaxPath),
			CheckText("properties", value, facts.MaxPath)); err != nil {
			return err
		}
	}
	if err := cmp.Or(checkSpec(s.Spec), checkOffer(s)); err != nil {
		return err
	}
	for n := range s.Finished {
		s.Finished[n].Reason = cleanText(s.Finished[n].Reason)
	}
	if s.Usage != nil && len(s.Usage.Resources) > maxUsage {
		return problem.Invalid("usage", "it has too many resources")
	}
	if s.Sequence == 0 || s.Sequence > maxSequence || s.Slots < 0 || s.Slots > api.MaxHostSlots || s.Cores < 0 ||
		s.Cores > maxCores ||
		len(s.Finished) > MaxSyncList || len(s.Instances) > MaxSyncList || len(s.Gone) > MaxSyncList ||
		len(s.Jobs) > MaxSyncList {
		return problem.Invalid("sync", "sequence, slots, memory or the length of a list cannot be")
	}
	return nil
}

// cleanText keeps a reason that a worker gives: a program's words must not make its end unstorable.
func cleanText(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "�")
	if len(s) > facts.MaxPath {
		s = strings.ToValidUTF8(s[:facts.MaxPath], "")
	}
	return s
}

const (
	maxHold = 25 * time.Second // longest hold of a sync that a worker may ask for
)

// Limits of what one worker may offer and report.
const (
	MaxSyncList   = 10_000   // instances, ends or specifications of one sync
	maxSequence   = 1 << 52  // of a sync, so that JSON carries the numbers of its answers exactly
	maxCores      = 65_536   // of a machine
	MaxDevices    = 1_000    // GPUs of a host, each of which is given by itself
	maxUsage      = 256      // resources whose use outside of the farm one sync reports
	MaxOffers     = 1_000    // groups, properties or resources
	maxOfferBytes = 64 << 10 // of their names and values together
)

// checkOffer bounds what every listing of hosts repeats and every plan looks at.
func checkOffer(s *api.Sync) error {
	bytes := 0
	for _, group := range s.Groups {
		bytes += len(group)
	}
	for name, value := range s.Properties {
		bytes += len(name) + len(value)
	}
	for name, value := range s.Resources {
		bytes += len(name)
		if err := CheckText("resources", name, facts.MaxPath); err != nil {
			return err
		}
		if value < 0 || value > 1<<53 || (strings.TrimPrefix(name, "host.") == "gpus" && value > MaxDevices) {
			return problem.Invalid("resources", "%s = %d: use 0 to 2^53, and at most %d gpus", problem.Clip(name), value,
				MaxDevices)
		}
	}
	if bytes > maxOfferBytes || max(len(s.Groups), len(s.Properties), len(s.Resources)) > MaxOffers {
		return problem.Invalid("properties",
			"groups, properties and resources have %d bytes; at most %d, and %d of each, are taken", bytes,
			maxOfferBytes, MaxOffers)
	}
	return nil
}

func ownersOf(o *api.SyncOwners) *fit.Owners {
	if o == nil {
		return nil
	}
	return &fit.Owners{AllowRoot: o.AllowRoot, LowestUID: o.LowestUID, LowUsers: o.LowUsers}
}
