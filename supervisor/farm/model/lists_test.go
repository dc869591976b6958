package model

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/worker/core"
)

// listsRig is an agent that reports its list to the host of a farm, over a network that loses, repeats and reorders
// syncs and answers. Either side may start again.
type listsRig struct {
	t *rapid.T

	runs     map[api.AttemptID]api.SyncInstance
	report   core.Report
	life     int
	sequence uint64
	next     int
	sent     []sentSync  // some of all syncs, which may arrive at any time, and again
	answers  []agentWord // of syncs that were read, on their way to the agent

	agent agents.Agent
	lists Lists
	past  []Lists // that there ever were
	apply int     // differences that were taken
}

type agentWord struct {
	life     int
	sequence uint64
}

type sentSync struct {
	agentWord
	event message.WorkerSynced
	list  map[facts.AttemptID]ReportedInstance // in truth
}

var listsStates = []string{"starting", "running", "frozen", "suspended", "stopping", "idle", "of tomorrow"}

func factsID(id api.AttemptID) facts.AttemptID {
	return facts.AttemptID{Job: facts.JobID(id.Job), Item: facts.ItemNo(id.Item), Number: id.Number}
}

// change starts an instance, ends one, has one take the next attempt, or changes one.
func (r *listsRig) change() {
	ids := slices.SortedFunc(maps.Keys(r.runs), func(a, b api.AttemptID) int { return a.Item - b.Item })
	what := rapid.IntRange(0, 5).Draw(r.t, "what")
	if len(ids) == 0 || what == 0 && len(ids) < 12 {
		r.next++
		id := api.AttemptID{Job: 7, Item: r.next, Number: 1}
		r.runs[id] = api.SyncInstance{Job: 7, Instance: r.next, Attempt: id, State: "starting"}
		return
	}
	id := rapid.SampledFrom(ids).Draw(r.t, "which")
	i := r.runs[id]
	switch what {
	case 1:
		delete(r.runs, id)
	case 2:
		delete(r.runs, id)
		r.next++
		i.Attempt.Item = r.next
		r.runs[i.Attempt] = i
	case 3:
		i.State = rapid.SampledFrom(listsStates).Draw(r.t, "state")
		r.runs[id] = i
	case 4:
		i.Progress = rapid.IntRange(0, 100).Draw(r.t, "progress")
		r.runs[id] = i
	case 5:
		i.SuspensionID = rapid.Int64Range(0, 2).Draw(r.t, "suspension")
		r.runs[id] = i
	}
}

// send makes a sync of the list.
func (r *listsRig) send() {
	r.sequence++
	s := api.Sync{Sequence: r.sequence}
	list := map[facts.AttemptID]ReportedInstance{}
	for _, id := range slices.SortedFunc(maps.Keys(r.runs), func(a, b api.AttemptID) int { return a.Item - b.Item }) {
		i := r.runs[id]
		s.Instances = append(s.Instances, i)
		list[factsID(id)] = ReportedInstance{i.State, i.Memory, i.SuspensionID, i.Progress, i.Instance, i.State}
	}
	r.report.Fill(&s)
	e := message.WorkerSynced{Incarnation: fmt.Sprint(r.life), Sequence: s.Sequence, Since: s.Since, Digest: s.Digest}
	for _, i := range s.Instances {
		e.Instances = append(e.Instances, message.ReportedInstance{Attempt: factsID(i.Attempt), Instance: i.Instance,
			State: i.State, Word: i.State, Memory: i.Memory, Progress: i.Progress, SuspensionID: i.SuspensionID})
	}
	for _, id := range s.Gone {
		e.Gone = append(e.Gone, factsID(id))
	}
	r.sent = append(r.sent, sentSync{agentWord{r.life, r.sequence}, e, list})
}

// read has a sync arrive. Differences from the last sync that was read, or an earlier one, are not refused.
func (r *listsRig) read(s sentSync) {
	e := s.event
	r.digestProves(s)
	if s.life < r.life && r.agent.Incarnation == fmt.Sprint(r.life) || r.agent.Incarnation == e.Incarnation &&
		e.Sequence <= r.agent.Sequence {
		return // stale
	}
	follows := e.Since == 0 || r.agent.ReadLast(e.Word(), e.Since)
	if !follows {
		r.refuse(s)
		return
	}
	if !r.lists.TakeList(&e) {
		r.t.Fatalf("sync %d since %d is refused after sync %d", e.Sequence, e.Since, r.agent.Sequence)
	}
	if !maps.Equal(r.lists.Reported, s.list) {
		r.t.Fatalf("sync %d since %d leads to %v, in truth %v", e.Sequence, e.Since, r.lists.Reported, s.list)
	}
	if e.Since != 0 {
		r.apply++
	}
	r.past = append(r.past, r.lists.clone())
	r.agent.Heard, r.agent.Incarnation, r.agent.Sequence = true, e.Incarnation, e.Sequence
	r.answers = append(r.answers, s.agentWord)
}

func (l Lists) clone() Lists { return Lists{Reported: maps.Clone(l.Reported), reported: l.reported} }

// digestProves applies differences to a list of any other time: where the digest is the agent's, the list is, too.
func (r *listsRig) digestProves(s sentSync) {
	if s.event.Since == 0 || len(r.past) == 0 {
		return
	}
	l := rapid.SampledFrom(r.past).Draw(r.t, "list").clone()
	if !l.TakeList(&s.event) {
		return
	}
	for id, is := range s.list {
		got, listed := l.Reported[id]
		if got.Progress = is.Progress; !listed || got != is {
			r.t.Fatalf("by the digest, %v is %+v, in truth %+v", id, got, is)
		}
	}
	if len(l.Reported) != len(s.list) {
		r.t.Fatalf("by the digest there are %v, in truth %v", l.Reported, s.list)
	}
}

// refuse has the agent hear that a sync was refused; it looks at the refusal of its newest alone.
func (r *listsRig) refuse(s sentSync) {
	if s.life == r.life && s.sequence == r.sequence {
		r.report.Forget()
	}
}

// TestListsAgree: after a sync the list of the supervisor is the agent's, as it was when the agent sent the sync, or the
// sync is refused and the agent's next list is complete; whatever is lost, repeated or late, and on whichever side a
// process starts again.
func TestListsAgree(t *testing.T) {
	applied := 0
	rapid.Check(t, func(t *rapid.T) {
		r := &listsRig{t: t, runs: map[api.AttemptID]api.SyncInstance{}}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"change", "change", "send", "send", "read", "read", "late", "hear", "hear", "lose",
				"agent", "farm"}).Draw(t, "step") {
			case "change":
				r.change()
			case "send":
				r.send()
			case "read":
				if len(r.sent) > 0 {
					r.read(r.sent[len(r.sent)-1])
				}
			case "late":
				if len(r.sent) > 0 {
					r.read(rapid.SampledFrom(r.sent).Draw(t, "sync"))
				}
			case "hear":
				if len(r.answers) > 0 {
					if a := rapid.SampledFrom(r.answers).Draw(t, "answer"); a.life == r.life {
						r.report.Answered(a.sequence, true)
					}
				}
			case "lose":
				r.answers = nil
			case "agent":
				r.life++
				r.sequence, r.report = 0, core.Report{}
			case "farm":
				r.agent, r.lists, r.answers = agents.Agent{}, Lists{}, nil
			}
		}
		for range 2 {
			r.send()
			r.read(r.sent[len(r.sent)-1])
		}
		if !maps.Equal(r.lists.Reported, r.sent[len(r.sent)-1].list) {
			t.Fatalf("after the faults the supervisor has %v of %v", r.lists.Reported, r.runs)
		}
		applied += r.apply
	})
	if applied == 0 {
		t.Error("no differences were ever taken")
	}
}

// TestListIsBounded: no agent makes its list longer by differences than a complete one may be.
func TestListIsBounded(t *testing.T) {
	var l Lists
	e := message.WorkerSynced{}
	for n := range maxReported {
		e.Instances = append(e.Instances, message.ReportedInstance{Attempt: facts.AttemptID{Job: 1, Item: facts.ItemNo(n)}})
	}
	l.TakeList(&e)
	e = message.WorkerSynced{Since: 1, Instances: []message.ReportedInstance{{Attempt: facts.AttemptID{Job: 2}}}}
	if e.Digest = l.digestAfter(&e); l.TakeList(&e) || len(l.Reported) != maxReported {
		t.Errorf("%d instances", len(l.Reported))
	}
	e.Gone, e.Instances = []facts.AttemptID{{Job: 1}}, nil
	if e.Digest = l.digestAfter(&e); !l.TakeList(&e) || len(l.Reported) != maxReported-1 {
		t.Errorf("after one has gone, %d instances", len(l.Reported))
	}
}

// answersRig is a host whose instances change, and its agent.
type answersRig struct {
	t      *rapid.T
	host   *Host
	job    *Job
	number uint64
	next   int
	heard  uint64
	wish   core.Wish
	policy message.Policy
}

func newAnswersRig(t *rapid.T) *answersRig {
	entries, err := agenda.Parse(agenda.Spec{Range: "1-1000"}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	r := &answersRig{t: t, job: &Job{JobFacts: facts.JobFacts{ID: 7, Version: 1}}, host: NewHost(facts.HostFacts{ID: "h"})}
	r.job.Items = items.New(entries)
	return r
}

func (r *answersRig) change() {
	all := r.host.SortedInstances()
	what := rapid.IntRange(0, 6).Draw(r.t, "what")
	if len(all) == 0 || what == 0 {
		r.next++
		i := &Instance{Job: r.job, Host: r.host, Number: r.next, Slots: 1}
		r.host.Instances[instanceKey{7, r.next}] = i
		i.Attempt.AttemptID = facts.AttemptID{Job: 7, Item: facts.ItemNo(r.next), Number: 1}
		return
	}
	i := rapid.SampledFrom(all).Draw(r.t, "which")
	switch what {
	case 1:
		delete(r.host.Instances, instanceKey{7, i.Number})
		r.host.sorted = nil
	case 2:
		r.next++
		i.Attempt = facts.RunFacts{AttemptID: facts.AttemptID{Job: 7, Item: facts.ItemNo(r.next % 1000), Number: 1}}
	case 3:
		i.Attempt.State = facts.Stopping
	case 4:
		i.Kind = 1 - i.Kind
	case 5:
		i.Attempt.SuspendedAt = time.UnixMicro(rapid.Int64Range(1, 3).Draw(r.t, "since"))
	case 6:
		r.job.Version++
	}
}

// answer is the next answer, and what it means: the complete list.
func (r *answersRig) answer(heard uint64) (reply api.SyncReply, all map[core.Key]api.Desired) {
	r.number++
	got := message.SyncReply{Number: r.number}
	r.host.FillReply(time.Unix(1000, 0), &r.policy, facts.HostFacts{}, map[facts.JobID]int64{7: r.job.Version}, heard, &got)
	reply = api.SyncReply{Answer: r.number, Since: got.Since, Digest: got.Digest}
	for _, g := range got.Gone {
		reply.Gone = append(reply.Gone, api.InstanceID{Job: int64(g.Job), Instance: g.Instance})
	}
	for _, d := range got.Instances {
		reply.Instances = append(reply.Instances, wireDesired(d))
	}
	all = map[core.Key]api.Desired{}
	for _, i := range r.host.Instances {
		if !i.Stopping() {
			all[core.Key{Job: 7, Instance: i.Number}] = wireDesired(i.desired(&r.policy))
		}
	}
	return reply, all
}

func wireDesired(d message.DesiredInstance) api.Desired {
	return api.Desired{Instance: d.Instance, Attempt: wireAttempt(d.Attempt), Version: d.Version, Kind: d.Kind.String(),
		Suspended: d.Suspended, SuspensionID: d.SuspensionID, Name: d.Name}
}

func wireAttempt(id facts.AttemptID) api.AttemptID {
	return api.AttemptID{Job: int64(id.Job), Item: int(id.Item), Number: id.Number}
}

// whoRuns is what counts for the digest.
func whoRuns(list map[core.Key]api.Desired) map[core.Key]api.Desired {
	who := map[core.Key]api.Desired{}
	for key, d := range list {
		who[key] = api.Desired{Attempt: d.Attempt, Version: d.Version, SuspensionID: d.SuspensionID}
	}
	return who
}

// TestAnswersAgree: an answer that fits what the agent wants leads to what the farm means, whichever answers were lost;
// an answer to an agent that has taken the last one fits.
func TestAnswersAgree(t *testing.T) {
	differed := 0
	rapid.Check(t, func(t *rapid.T) {
		r := newAnswersRig(t)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "changes") {
				r.change()
				continue
			}
			last := r.number
			heard := rapid.SampledFrom([]uint64{r.heard, r.heard, r.heard, last, last / 2}).Draw(t, "heard") // some are not its own
			reply, all := r.answer(heard)
			if reply.Since != 0 && (reply.Since != heard || heard != last) {
				t.Fatalf("after answer %d, one to an agent that heard %d differs from answer %d", last, heard, reply.Since)
			}
			if rapid.IntRange(0, 3).Draw(t, "lost") == 0 {
				continue
			}
			fits := r.wish.Fits(&reply)
			if !fits && (heard == r.heard && r.heard == last || reply.Since == 0) {
				t.Fatalf("answer %d since %d does not fit %v", reply.Answer, reply.Since, r.wish.Instances)
			}
			if !fits {
				continue
			}
			if reply.Since != 0 && reply.Since != r.heard { // the agent takes no such answer; yet the digest alone proves who runs
				other := core.Wish{Instances: maps.Clone(r.wish.Instances)}
				other.Take(&reply)
				if got, want := whoRuns(other.Instances), whoRuns(all); !reflect.DeepEqual(got, want) {
					t.Fatalf("by the digest, answer %d since %d leads to %v, not to %v", reply.Answer, reply.Since, got, want)
				}
				continue
			}
			r.wish.Take(&reply)
			if r.heard = reply.Answer; !reflect.DeepEqual(r.wish.Instances, all) {
				t.Fatalf("answer %d since %d leads to %v, not to %v", reply.Answer, reply.Since, r.wish.Instances, all)
			}
			if reply.Since != 0 {
				differed++
			}
		}
	})
	if differed == 0 {
		t.Error("no answer had differences")
	}
}
