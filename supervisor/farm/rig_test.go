package farm_test

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/farm"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/farm/profiles"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/licences"
	"qb/supervisor/share/planner"
	"qb/supervisor/wire/translate"
)

// rig is a farm with rows beside it and faithful workers around it.
type rig struct {
	tellItems bool               // the answer to an order says which items it is
	planned   func()             // is called after every plan, if set
	unplanned func()             // called after each line, before the farm plans
	taken     func(outbox.Batch) // is called after every Take that gave something, if set
	t         *testing.T
	now       time.Time
	policy    message.Policy
	farm      *farm.Farm
	rows      *rows
	workers   map[facts.HostID]*workerDouble
	ticket    outbox.Ticket
	steps     int
	waiting   map[outbox.Ticket]*workerDouble
	out       strings.Builder
	history   []facts.EventFacts
	types     map[string]bool // of all events so far; may be nil
	said      []string        // all lines so far
}

func testPolicy() message.Policy {
	return message.Policy{
		Share: planner.SharePolicy{Mode: "jobs", Preempt: "aggressive", DefaultMaxCPUs: -1, MaxCPUsLimit: 100, ShareUnit: "slots", Promote: true,
			Order: []string{"priority", "cluster", "fairshare", "vtime", "age", "id"}},
		Licences: testLicences, PrimaryPreempt: "passive", DefaultPriority: 9999, MaxPriority: 9999, DefaultCluster: "/", MaxItems: 1_000_000,
		Liveness: 30 * time.Second, ExecutionLease: 15 * time.Minute, KillGrace: 10 * time.Second, LeaseMargin: 5 * time.Second, LoadOnceWait: 30 * time.Second,
		Memory: items.MemoryPolicy{Default: 2 << 30, Placement: "best_fit", Quantile: 1, Margin: 1.1},
	}
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, now: time.Unix(1_000_000, 0).UTC(), policy: testPolicy(), rows: newRows(), workers: map[facts.HostID]*workerDouble{}, waiting: map[outbox.Ticket]*workerDouble{}}
	r.farm = farm.New(r.policy)
	return r
}

// say does what a line of a dialogue asks for, lets everything settle and returns the farm's words.
func (r *rig) say(line string) string {
	r.out.Reset()
	r.said = append(r.said, line)
	words := strings.Fields(line)
	r.do(words[0], words[1:])
	if r.unplanned != nil {
		r.unplanned()
	}
	r.settle()
	return r.out.String()
}

func (r *rig) do(verb string, args []string) {
	switch verb {
	case "host":
		w := newWorkerDouble(args[0], option(args, "slots", "1"))
		w.cluster, w.machine, w.key = option(args, "cluster", "/"), option(args, "machine", ""), option(args, "key", "")
		w.resources = pairs(option(args, "resources", ""))
		r.withMemory(w, args)
		w.spec = parts(option(args, "spec", "1"))[0]
		if groups := option(args, "groups", ""); groups != "" {
			w.groups = strings.Split(groups, ",")
		}
		w.props = option(args, "props", "")
		r.workers[facts.HostID(args[0])] = w
	case "submit":
		r.submit(args)
	case "modify":
		r.modify(args)
	case "kill", "retry", "redo", "requeue", "block", "unblock", "interrupt", "preempt", "shove", "suspend", "resume", "migrate", "retire", "top", "bottom", "complete", "fail":
		r.order(facts.Action(verb), args)
	case "forget": // takes an ended job out of memory
		r.step(message.JobsAged{Ticket: r.newTicket(), Jobs: []facts.JobID{facts.JobID(number(args[0]))}})
	case "lock", "unlock":
		r.step(message.HostLocked{Ticket: r.newTicket(), Host: facts.HostID(args[0]), Lock: verb == "lock", Slots: number(option(args, "slots", "0")), Purge: option(args, "purge", "") != "", By: "op", LockedBy: option(args, "by", ""), Reason: "test"})
	case "confirm-dead":
		r.step(message.HostConfirmedDead{Ticket: r.newTicket(), Host: facts.HostID(args[0]), By: "op"})
	case "remove":
		r.step(message.HostRemoved{Ticket: r.newTicket(), Host: facts.HostID(args[0]), By: "op"})
	case "finish":
		r.finish(args)
	case "policy":
		r.setPolicy(args)
	case "advance":
		r.advance(args[0])
	case "crash": // and perhaps other settings afterwards
		r.setLease(args)
		r.crash()
	case "jobs":
		r.showJobs()
	case "explain":
		r.explain(args[0])
	case "states":
		for _, h := range r.farm.View(r.now).Hosts {
			fmt.Fprintf(&r.out, "%s %s %d/%d; %s\n", h.ID, h.State, h.Used, h.Slots, h.Remark)
			for _, c := range h.Claims {
				fmt.Fprintf(&r.out, "  claim (%s): %s\n", c.Code, c.Text)
			}
		}
	case "attempts":
		r.rows.show(&r.out)
	default:
		r.worker(verb, args)
	}
}

// worker verbs act on a worker double.
func (r *rig) worker(verb string, args []string) {
	if r.memoryVerb(verb, args) || r.fairVerb(verb, args) || r.profileVerb(verb, args) || r.licenceVerb(verb, args) {
		return
	}
	w := r.workers[facts.HostID(args[0])]
	switch verb {
	case "end": // of an attempt by its item's place, after 5 s
		job, item, _ := strings.Cut(args[1], "/")
		for _, id := range w.running {
			if fmt.Sprint(id.Job) == job && fmt.Sprint(id.Item) == item {
				w.end(id, option(args, "outcome", "exit"), number(option(args, "exit", "0")), "", 5)
				break
			}
		}
	case "silent":
		w.silent = true
	case "heard":
		w.silent = false
		w.owes = true
	case "deaf":
		w.deaf = true
	case "hears":
		w.deaf, w.owes = false, true
	case "lacks": // it lacks the working folder; with closed: the user may not enter the folder
		w.lacks, w.cwd = "", func(id facts.AttemptID) string { return r.rows.jobs[id.Job].Cwd }
		if len(args) > 1 {
			w.lacks = args[1]
		}
	case "reboot":
		w.boots++
		w.restart()
		w.running, w.finished = nil, nil
		w.programs = programsDouble{}
	case "restart":
		w.restart()
	case "rename": // it is restarted with another worker_name
		delete(r.workers, facts.HostID(w.host))
		w.host = args[1]
		r.workers[facts.HostID(w.host)] = w
		w.restart()
	case "slots": // it is restarted with another worker_slots
		w.slots = number(args[1])
		w.restart()
	case "wipe":
		w.states++
		w.restart()
		w.running, w.finished = nil, nil
	case "moves": // what is suspended there does not stand still yet
		w.moving = true
	case "stands":
		w.moving, w.owes = false, true
	case "slow": // its processes take their time to die
		w.slow = true
	case "stuck": // they outlive KILL
		w.slow, w.stuck, w.owes = true, true, true
	case "dies": // all that is stopping is gone now
		w.slow, w.stuck = false, false
		w.owes = true
	case "drops": // an attempt vanishes without a record
		w.drop(args[1])
	case "owner": // the worker runs items of this owner only
		w.runAs, w.user = "agent", args[1]
		w.owes = true
	default:
		r.t.Fatalf("the rig does not know %q", verb)
	}
}

func (r *rig) newTicket() outbox.Ticket {
	r.ticket++
	return r.ticket
}

// step has something happen to the farm. What the event changes must be in the next view, which Check compares with one
// that is made from nothing; of a large farm now and then.
func (r *rig) step(e message.Event) {
	if r.steps++; len(r.rows.jobs) < 40 || r.steps%16 == 0 {
		r.farm.View(r.now)
	}
	r.farm.Step(r.now, e)
	if err := r.farm.Check(); err != nil {
		r.t.Fatalf("after %T: %v", e, err)
	}
}

// settle lets the workers speak, plans, commits and delivers until nothing moves any more and no plan is due: a plan
// that moves nothing must not ask for another without end.
func (r *rig) settle() {
	for round := 0; ; round++ {
		if round > 200 && r.policy.CommitRows == 0 || round > 2000 {
			r.t.Fatalf("the farm does not come to rest:\n%s", r.out.String()[:min(3000, r.out.Len())])
		}
		for _, w := range r.sortedWorkers() {
			if w.owes && !w.silent && !r.farm.Full() {
				w.owes = false
				ticket := r.newTicket()
				r.waiting[ticket] = w
				r.step(w.sync(ticket))
			}
		}
		r.farm.Plan(r.now)
		if broke := r.farm.PlanBreaks(); len(broke) > 0 && r.policy.Divide == nil {
			r.t.Fatalf("a plan broke: %+v", broke)
		}
		if err := r.farm.Check(); err != nil {
			r.t.Fatalf("after a plan: %v", err)
		}
		if r.planned != nil {
			r.planned()
		}
		batch := r.farm.Take(r.now)
		if len(batch.Writes)+len(batch.Replies) == 0 && (!farm.Stale(r.farm) || r.policy.PlanDelay > 0) {
			r.checkDrains()
			if _, text := r.farm.ClosesOtherwise(r.now); text != "" {
				r.t.Fatalf("%s:\n%s", text, r.out.String())
			}
			return
		}
		if r.taken != nil {
			r.taken(batch)
		}
		if err := r.rows.apply(batch.Writes); err != nil {
			r.t.Fatalf("the rows refuse a write: %v", err)
		}
		r.checkHistory(batch.Writes)
		for _, w := range batch.Writes {
			r.tell(w)
		}
		for _, reply := range batch.Replies {
			r.deliver(reply)
		}
	}
}

func (r *rig) sortedWorkers() []*workerDouble {
	var all []*workerDouble
	for _, w := range r.workers {
		all = append(all, w)
	}
	sort.Slice(all, func(a, b int) bool { return all[a].host < all[b].host })
	return all
}

func (r *rig) deliver(reply outbox.Reply) {
	if w, ok := r.waiting[reply.Ticket]; ok {
		delete(r.waiting, reply.Ticket)
		if body, ok := reply.Body.(message.SyncReply); ok && !w.silent && !w.deaf && body.Sequence == w.sequence {
			if w.clock = &r.now; body.Lease > 0 {
				w.leased = r.now.Add(body.Lease)
			}
			w.hear(body)
			for _, line := range w.programs.said {
				r.out.WriteString(line)
			}
			w.programs.said = nil
		} else if ok && w.deaf && body.Sequence == w.sequence {
			w.missed = true
		}
		w.refused = w.refused || reply.Err != nil && reply.Err.Code == agents.CodeNameTaken
		return
	}
	switch body := reply.Body.(type) {
	case message.JobReply:
		if body.Job.Reason != "" || body.Job.Code != "" {
			r.t.Errorf("the reply says why job %d waits: %s", body.Job.ID, body.Job.Reason)
		}
		fmt.Fprintf(&r.out, "job %d %s\n", body.Job.ID, body.Job.Status)
		for _, remark := range body.Remarks {
			fmt.Fprintf(&r.out, "remark: %s\n", remark)
		}
	case message.ActionReply:
		fmt.Fprintf(&r.out, "affected %d\n", body.Affected)
		if r.tellItems {
			a, err := agenda.Parse(r.rows.jobs[body.Job].Agenda, 1<<30)
			if err != nil {
				r.t.Fatal(err)
			}
			fmt.Fprintf(&r.out, "items %s; job %d has version %d\n", a.Text(body.Items), body.Job, body.Version)
		}
		for _, remark := range body.Remarks {
			fmt.Fprintf(&r.out, "remark: %s\n", remark)
		}
	case licences.Status:
		fmt.Fprintln(&r.out, r.resourceText(body))
	case profiles.Profile:
		fmt.Fprintln(&r.out, profileText(body))
	case facts.ShareFacts:
		fmt.Fprintf(&r.out, "%s has %v shares\n", body.Path, body.Shares)
	case facts.PublicationFacts:
		fmt.Fprintf(&r.out, "%s of %s is %s\n", body.Source, body.Owner, body.State)
	case facts.BudgetFacts:
		fmt.Fprintf(&r.out, "budget of %s: %v s per %d s, over it: %s\n", body.Path, body.Amount, body.Period, body.Beyond)
	case facts.AccountFacts:
		fmt.Fprintf(&r.out, "account %s: users %v, groups %v, default for %v\n", body.Path, body.Users, body.Groups, body.DefaultFor)
	case facts.CreditFacts:
		fmt.Fprintf(&r.out, "%s has %v credit more\n", body.Owner, body.Amount)
	case message.HostReply:
		fmt.Fprintf(&r.out, "affected %d\n", body.Affected)
	case message.PolicyReply, message.AgedReply:
	default:
		fmt.Fprintf(&r.out, "refused (%s): %s\n", reply.Err.Kind, reply.Err.Text)
	}
}

// tell puts a write into words; hosts' rows and job rows that only count up are left out.
func (r *rig) tell(w facts.Write) {
	switch w := w.(type) {
	case facts.StartAttempt:
		a := w.Attempt
		verb := "start"
		if a.Ahead() {
			verb = "hold"
		}
		fmt.Fprintf(&r.out, verb+" %s on %s as %d.%d %s%s\n", r.item(a.AttemptID), a.Host, a.Job, a.Instance, a.Kind, with(a.Memory))
	case facts.StopAttempt:
		fmt.Fprintf(&r.out, "stop %s: %s\n", r.item(w.ID), w.Cause)
	case facts.SendAwayAttempt:
		fmt.Fprintf(&r.out, "leave %s: %s\n", r.item(w.ID), w.Cause)
	case facts.SuspendAttempt:
		verb := "suspend"
		if w.At.IsZero() {
			verb = "resume"
		}
		fmt.Fprintf(&r.out, "%s %s after %v s", verb, r.item(w.ID), w.Seconds)
		if w.Released > 0 {
			fmt.Fprintf(&r.out, ", for %v s without its slots", w.Released)
		}
		fmt.Fprintln(&r.out)
	case facts.ReleaseAttempt:
		how := "stands still without its slots"
		if !w.Resuming.IsZero() {
			how = "waits for slots to go on"
		}
		fmt.Fprintf(&r.out, "%s %s\n", r.item(w.ID), how)
	case facts.RelabelAttempt:
		fmt.Fprintf(&r.out, "relabel %s %s\n", r.item(w.ID), w.Kind)
	case facts.EndAttempt:
		again := [...]string{"", ", again", ", again"}[w.Again]
		cause := ""
		if w.Cause != "" {
			cause = ": " + w.Cause
		}
		fmt.Fprintf(&r.out, "end %s %s%s%s\n", r.item(w.ID), w.State, again, cause)
	case facts.ReopenAttempts:
		fmt.Fprintf(&r.out, "reopen %d attempts of job %d\n", len(w.Attempts), w.Job)
	case facts.ChangeMarks:
		for _, m := range w.Remove {
			fmt.Fprintf(&r.out, "unmark job %d items %s\n", w.Job, spanText(m))
		}
		for _, m := range w.Add {
			fmt.Fprintf(&r.out, "mark job %d items %s %s by %s\n", w.Job, spanText(m), m.Kind, m.By)
		}
	case facts.AddMail:
		m := w.Mail
		fmt.Fprintf(&r.out, "mail to %q of %s: job %d (%s) %s, %d of %d complete; %s\n", m.To, m.Owner, m.Job, m.Name, m.State, m.Complete, m.Items, m.Cause)
	case facts.AddEvent:
		r.tellEvent(w.Event)
	}
}

func spanText(m facts.Mark) string {
	if m.Step > 1 {
		return fmt.Sprintf("%d-%dx%d", m.First, m.Last, m.Step)
	}
	return fmt.Sprintf("%d-%d", m.First, m.Last)
}

// tellEvent puts the lines of history into words that no other write tells.
func (r *rig) tellEvent(e facts.EventFacts) {
	switch e.Type {
	case "resource-reported", "resource-lowered":
		fmt.Fprintf(&r.out, "event %s %s\n", e.Type, e.Cause)
	case "unblocked", "unkillable", "slow", "cpu-overuse", "timeout", "host-avoided":
		fmt.Fprintf(&r.out, "event %s job %d %s\n", e.Type, e.Job, e.Cause)
	case "draining", "kept", "left":
		fmt.Fprintf(&r.out, "event %s %d.%d on %s: %s\n", e.Type, e.Job, e.Instance, e.Host, e.Cause)
	case "host-suspect":
		if e.Why.Reason.ForLack() {
			fmt.Fprintf(&r.out, "event %s %s %s\n", e.Type, e.Host, e.Cause)
		}
	case "host-locked", "host-unlocked":
		if e.By == "qb" {
			fmt.Fprintf(&r.out, "event %s %s %s\n", e.Type, e.Host, e.Cause)
		}
	default:
		if strings.HasPrefix(e.Type, "job-") {
			fmt.Fprintf(&r.out, "event %s job %d %s\n", e.Type, e.Job, e.Cause)
		}
	}
}

func (r *rig) item(id facts.AttemptID) string {
	a, err := agenda.Parse(r.rows.jobs[id.Job].Agenda, 1<<30)
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("%d/%s#%d", id.Job, a.Item(int(id.Item)).Name, id.Number)
}

func (r *rig) submit(args []string) {
	e := r.submission(args)
	e.Ticket = r.newTicket()
	r.step(e)
}

func (r *rig) submission(args []string) message.JobSubmitted {
	row := facts.JobFacts{Name: args[0], User: option(args, "user", "u1"), Command: []string{"true"}, Dependency: option(args, "after", ""),
		Submission: option(args, "token", ""), Agenda: agenda.Spec{Range: option(args, "items", ""), Order: agenda.Order(option(args, "order", ""))}}
	row.Requirements, row.Reservations = strings.ReplaceAll(option(args, "requirements", ""), "_", " "), option(args, "reservations", "")
	row.Restrictions, row.HostOrder = strings.ReplaceAll(option(args, "restrictions", ""), "_", " "), option(args, "hostorder", "")
	row.Kind, row.StartAt = option(args, "kind", ""), option(args, "start", "")
	row.JobType = option(args, "type", "")
	row.Cwd, row.Profile = option(args, "cwd", ""), option(args, "profile", "")
	row.Cluster, row.Account = option(args, "cluster", ""), option(args, "account", "")
	row.Label, row.PGrp = option(args, "label", ""), facts.JobID(number(option(args, "pgrp", "0")))
	row.Agenda.Chunk, row.Agenda.Runs = number(option(args, "chunk", "0")), number(option(args, "runs", "0"))
	row.CPUs = number(option(args, "cpus", "1"))
	row.Priority = number(option(args, "priority", "0"))
	if slices.Contains(args, "operator") {
		row.OperatorPriority = row.Priority
	}
	row.RetryWork, row.RetryDelay = number(option(args, "retrywork", "0")), number(option(args, "retrydelay", "0"))
	row.RetryInstance, row.Timeout = number(option(args, "retrysubjob", "0")), number(option(args, "timeout", "0"))
	row.AgendaTimeout = number(option(args, "agenda_timeout", "0"))
	row.TimeEstimate = number(option(args, "timereq", "0"))
	row.TimeLimit, row.AgendaTimeLimit = number(option(args, "timelimit", "0")), number(option(args, "agendatimelimit", "0"))
	if flags := option(args, "flags", ""); flags != "" {
		row.Flags = strings.Split(flags, ",")
	}
	for name, to := range map[string]*[]string{"hosts": &row.Hosts, "omithosts": &row.OmitHosts, "groups": &row.Groups, "omitgroups": &row.OmitGroups, "address": &row.MailAddress} {
		if list := option(args, name, ""); list != "" {
			*to = strings.Split(list, ",")
		}
	}
	if width := option(args, "max", ""); width != "" {
		n := number(width)
		row.MaxCPUs = &n
	}
	l := r.linked(row.Dependency, row.PGrp)
	return message.JobSubmitted{Links: l.states, Labels: l.labels, Before: l.before, LabelHas: r.rows.labelled(row.PGrp, row.Label), Parents: l.parents, Facts: row, By: row.User, Blocked: slices.Contains(args, "blocked"),
		Groups: accounting.Groups{Names: names(args, "ingroups"), Unsure: slices.Contains(args, "unsure")}}
}

func (r *rig) modify(args []string) {
	e := message.JobModified{Ticket: r.newTicket(), Job: facts.JobID(number(args[0])), By: "u1", IfVersion: int64(number(option(args, "version", "0"))), Operator: slices.Contains(args, "operator")}
	for _, name := range []string{"cpus", "max", "priority", "retrywork_delay", "pgrp"} {
		if text := option(args, name, ""); text != "" {
			e.Change.Set(strings.Replace(name, "max", "max_cpus", 1), number(text))
		}
	}
	for _, name := range []string{"requirements", "reservations", "restrictions", "cluster"} {
		if text := option(args, name, "-"); text != "-" {
			e.Change.Set(name, strings.ReplaceAll(text, "_", " "))
		}
	}
	for _, name := range []string{"hosts", "omithosts", "groups", "omitgroups", "mailaddress"} {
		if text := option(args, name, "-"); text != "-" {
			e.Change.Set(name, slices.DeleteFunc(strings.Split(text, ","), func(s string) bool { return s == "" }))
		}
	}
	if start := option(args, "start", "-"); start != "-" {
		e.Change.Set("start", start)
	}
	if account := option(args, "account", "-"); account != "-" {
		e.Change.Set("account", account)
	}
	r.step(e)
}

func (r *rig) order(action facts.Action, args []string) {
	e := message.JobAction{Ticket: r.newTicket(), Job: facts.JobID(number(args[0])), Action: action, By: option(args, "by", "u1"), Everybody: option(args, "by", "u1") == "op", IfVersion: int64(number(option(args, "version", "0")))}
	r.tellItems = slices.Contains(args, "tell")
	if items := option(args, "items", ""); items != "" {
		a, err := agenda.Parse(r.rows.jobs[e.Job].Agenda, 1<<30)
		if err != nil {
			r.t.Fatal(err)
		}
		if e.Items, err = a.Pick(items); err != nil {
			r.t.Fatal(err)
		}
	}
	choice := api.ActionRequest{Instances: option(args, "instances", "")}
	for _, kind := range []struct {
		name   string
		states *[]string
	}{{"states", &choice.ItemStates}, {"instance_states", &choice.InstanceStates}} {
		if states := option(args, kind.name, ""); states != "" {
			*kind.states = strings.Split(states, ",")
		}
	}
	var err error
	if e.Action, e.Choice, err = translate.Choice(action, &choice); err != nil {
		fmt.Fprintf(&r.out, "refused: %v\n", err)
		return
	}
	e.Record = r.rows.prepared(r.t, e.Job)
	l := r.linked(r.rows.jobs[e.Job].Dependency, r.rows.jobs[e.Job].PGrp)
	e.Links, e.Labels, e.Before, e.Parents = l.states, l.labels, l.before, l.parents
	r.step(e)
}

// finish ends attempts where they run: "finish 1/3", "finish 1/3 exit=1", "finish 1" (all of the job).
func (r *rig) finish(args []string) {
	job, name, one := strings.Cut(args[0], "/")
	found := false
	for _, w := range r.sortedWorkers() {
		for _, id := range slices.Clone(w.running) {
			a, err := agenda.Parse(r.rows.jobs[id.Job].Agenda, 1<<30)
			if err != nil {
				r.t.Fatal(err)
			}
			switch {
			case fmt.Sprint(id.Job) != job || one && a.Item(int(id.Item)).Name != name:
			case w.standing[id] != 0:
				fmt.Fprintf(&r.out, "%s stands still\n", r.item(id))
				found = true
			default:
				w.end(id, option(args, "outcome", "exit"), number(option(args, "exit", "0")), strings.ReplaceAll(option(args, "reason", ""), "_", " "), 10)
				w.ends(id, args)
				found = true
				if job := r.rows.jobs[id.Job]; job.LoadOnce() && !slices.Contains(args, "dies") {
					w.programs.keeps(id)
					w.finished[len(w.finished)-1].Loaded = true
				}
			}
		}
	}
	if !found {
		r.t.Fatalf("finish %s: it runs nowhere", args[0])
	}
}

func (r *rig) setPolicy(args []string) {
	p := &r.policy
	p.Share.Mode = option(args, "mode", p.Share.Mode)
	p.Share.Preempt = option(args, "preempt", p.Share.Preempt)
	p.Share.MaxCPUsLimit = number(option(args, "limit", fmt.Sprint(p.Share.MaxCPUsLimit)))
	p.Share.DefaultMaxCPUs = number(option(args, "default", fmt.Sprint(p.Share.DefaultMaxCPUs)))
	if given := pairs(option(args, "resources", "")); len(given) > 0 {
		p.Resources = map[string]int64{}
		for name, count := range given {
			p.Resources[name] = int64(count)
		}
	}
	setMemoryPolicy(p, args)
	setInstanceLimits(p, args)
	licencePolicy(p, args)
	if mail := option(args, "mail", ""); mail != "" {
		p.Mail = message.MailPolicy{On: mail != "off", Domain: mail == "domain"}
	}
	p.CommitRows = number(option(args, "commit", fmt.Sprint(p.CommitRows)))
	p.PrimaryPreempt = option(args, "primary", p.PrimaryPreempt)
	if slots := option(args, "suspend", ""); slots != "" {
		p.ReleaseSlots = slots == "release"
	}
	p.HostOrder = option(args, "hostorder", p.HostOrder)
	p.DefaultPriority = number(option(args, "default_priority", fmt.Sprint(p.DefaultPriority)))
	p.Share.Order = strings.Split(option(args, "order", strings.Join(p.Share.Order, ",")), ",")
	setFairshare(p, args)
	r.setSpans(args, map[string]*time.Duration{"min_run": &p.MinRun, "settle": &p.Settle, "short": &p.ShortItem})
	r.setLease(args)
	if r.ticket == 0 && len(r.workers) == 0 { // nothing was promised yet
		r.farm = farm.New(*p)
	}
	r.step(message.PolicyChanged{Policy: *p, By: "op"})
}

func (r *rig) setLease(args []string) {
	r.setSpans(args, map[string]*time.Duration{"lease": &r.policy.ExecutionLease, "liveness": &r.policy.Liveness})
}

func (r *rig) setSpans(args []string, spans map[string]*time.Duration) {
	for name, to := range spans {
		if text := option(args, name, ""); text != "" {
			d, err := time.ParseDuration(text)
			if err != nil {
				r.t.Fatal(err)
			}
			*to = d
		}
	}
}

// advance lets time pass second by second; held syncs are answered in time, and workers speak again.
func (r *rig) advance(text string) {
	d, err := time.ParseDuration(text)
	if err != nil {
		r.t.Fatal(err)
	}
	for end := r.now.Add(d); r.now.Before(end); {
		r.now = r.now.Add(min(time.Second, end.Sub(r.now)))
		for _, w := range r.workers {
			w.owes = w.owes || w.missed || w.refused // it tries again
			w.missed = false
		}
		r.step(message.Ticked{})
		r.settle()
	}
}

// crash throws the farm away with all that was not committed and rebuilds it from the rows. Rows in short make the
// same farm as rows in full.
func (r *rig) crash() {
	given, policy := r.rows.facts(), r.policy
	policy.Divide = nil // functions cannot be compared
	f, err := farm.Rebuild(policy, short(given), r.now)
	if err != nil {
		r.t.Fatal(err)
	}
	full, err := farm.Rebuild(policy, given, r.now)
	if err != nil || !reflect.DeepEqual(f, full) {
		r.t.Fatalf("rows in short make another farm than in full: %+v, %+v (%v)", f.View(r.now), full.View(r.now), err)
	}
	if before, after := r.knownProfiles(), f.Profiles(r.now, facts.ProfileKey{}); !reflect.DeepEqual(before, after) {
		r.t.Fatalf("profiles were %+v, and are %+v from the rows", before, after)
	}
	if r.policy.Divide != nil {
		if f, err = farm.Rebuild(r.policy, given, r.now); err != nil {
			r.t.Fatal(err)
		}
	}
	r.farm, r.waiting = f, map[outbox.Ticket]*workerDouble{}
	for _, w := range r.workers {
		w.owes = true
	}
}

func (r *rig) showJobs() {
	for _, j := range r.farm.View(r.now).Jobs {
		fmt.Fprintf(&r.out, "job %d %s %d+%d", j.ID, j.Status, j.Primary, j.Secondary)
		if j.Draining > 0 {
			fmt.Fprintf(&r.out, " (%d leaving)", j.Draining)
		}
		c := j.Items
		fmt.Fprintf(&r.out, ", %d items:", c.Total)
		for _, state := range []struct {
			n    int
			name string
		}{{c.Pending, "pending"}, {c.Running, "running"}, {c.Complete, "complete"}, {c.Failed, "failed"}, {c.Killed, "killed"}, {c.Blocked, "blocked"}} {
			if state.n > 0 {
				fmt.Fprintf(&r.out, " %d %s", state.n, state.name)
			}
		}
		if j.Reason != "" {
			fmt.Fprintf(&r.out, "; %s", j.Reason)
		}
		fmt.Fprintln(&r.out)
	}
}

func (r *rig) explain(id string) {
	e, ok := r.farm.Explain(r.now, facts.JobID(number(id)))
	line := fmt.Sprint(ok)
	if e.Why != (facts.Why{}) {
		line += fmt.Sprintf(" %s: %s", e.Reason, e.Cause)
	}
	fmt.Fprintln(&r.out, line)
	for _, fact := range e.Facts {
		fmt.Fprintf(&r.out, "  %s: %s\n", strings.TrimSuffix(fact.Kind+" "+string(fact.Code), " "), fact.Text)
	}
}

func option(args []string, name, otherwise string) string {
	for _, arg := range args {
		if v, ok := strings.CutPrefix(arg, name+"="); ok {
			return v
		}
	}
	return otherwise
}

// pairs reads gpus:2,maya:1.
func pairs(text string) map[string]int {
	m := map[string]int{}
	for _, part := range strings.Split(text, ",") {
		if name, count, ok := strings.Cut(part, ":"); ok {
			m[name] = number(count)
		}
	}
	return m
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// linked is what the supervisor reads of the jobs that a dependency names.
func (r *rig) linked(dependency string, group facts.JobID) (l linked) {
	l = linked{map[facts.JobID]facts.JobState{}, map[string]facts.JobID{}, map[facts.JobID][]facts.JobID{}, nil}
	links, _ := facts.ParseDependency(dependency)
	for _, link := range links {
		if id := r.rows.labelled(group, link.Label); id != 0 {
			link.Job, l.labels[link.Label] = id, id
		}
		j := r.rows.jobs[link.Job]
		l.before[link.Job] = j.Before()
		wanted := false
		for _, id := range append(slices.Clone(j.Before()), link.Job) {
			if one, there := r.rows.jobs[id]; there {
				l.states[id] = one.State
				wanted = wanted || !link.Satisfied(one.State)
			}
		}
		for _, id := range append(slices.Clone(j.Before()), link.Job) {
			if link.Of != facts.OfJob && wanted && l.states[id].Final() && !slices.ContainsFunc(l.parents, func(p *items.Prepared) bool { return p.Job.ID == id }) {
				l.parents = append(l.parents, r.rows.prepared(r.t, id))
			}
		}
	}
	return l
}

// linked is what the rows tell of the jobs that a dependency names.
type linked struct {
	states  map[facts.JobID]facts.JobState
	labels  map[string]facts.JobID
	before  map[facts.JobID][]facts.JobID
	parents []*items.Prepared
}
