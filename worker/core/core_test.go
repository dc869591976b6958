package core

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/api"
	"qb/internal/listdigest"
)

// said writes orders as a reader would.
func said(orders []Command) string {
	var lines []string
	for _, o := range orders {
		switch o := o.(type) {
		case StartShim:
			lines = append(lines, fmt.Sprintf("start %s with %s", o.Key, attemptName(o.Item.Desired.Attempt)))
		case HandItem:
			lines = append(lines, fmt.Sprintf("hand %s to %s", attemptName(o.Item.Desired.Attempt), o.Key))
		case StopItem:
			lines = append(lines, fmt.Sprintf("stop %s on %s", attemptName(o.Attempt), o.Key))
		case CloseShim:
			lines = append(lines, fmt.Sprintf("close %s", o.Key))
		case WriteLease:
			lines = append(lines, fmt.Sprintf("lease of %s until %v", o.Key, o.End))
		case SuspendItem:
			lines = append(lines, fmt.Sprintf("suspend %s: %v, %d", attemptName(o.Attempt), o.Suspended, o.SuspensionID))
		case Forget:
			lines = append(lines, fmt.Sprintf("forget %s", attemptName(o.Attempt)))
		case SaveTerm:
			lines = append(lines, fmt.Sprintf("save epoch %d", o.Record.Term.Epoch))
		case GiveUpSync:
			lines = append(lines, fmt.Sprintf("give up sync %d", o.Sequence))
		case SendSync:
			var list []string
			for _, i := range o.Sync.Instances {
				state := i.State
				if i.SuspensionID != 0 {
					state += fmt.Sprint(" under ", i.SuspensionID)
				}
				list = append(list, fmt.Sprintf("%d.%d %s %s", i.Job, i.Instance, attemptName(i.Attempt), state))
			}
			for _, e := range o.Sync.Finished {
				list = append(list, fmt.Sprintf("%s ended: %s", attemptName(e.Attempt), e.Outcome))
			}
			since := ""
			if o.Sync.Since != 0 {
				since = fmt.Sprintf(" since %d", o.Sync.Since)
				for _, id := range o.Sync.Gone {
					list = append(list, attemptName(id)+" gone")
				}
			}
			lines = append(lines, fmt.Sprintf("sync %d%s [%s]", o.Sync.Sequence, since, strings.Join(list, ", ")))
		}
	}
	return strings.Join(lines, "; ")
}

// answer makes an answer to a sync that wants, per instance of job 1, the attempt at an item (-1: none).
func answer(sequence uint64, epoch int64, items ...int) Answered {
	reply := api.SyncReply{Epoch: epoch, Term: signedTerm(farmKey, "a", epoch), Sequence: sequence, Answer: 2*sequence + 1, LeaseSeconds: 600, GraceSeconds: 3}
	reply.Jobs = []api.JobSpec{{Job: 1, Version: 1, Command: []string{"true"}}}
	for instance, item := range items {
		if item >= 0 {
			reply.Instances = append(reply.Instances, api.Desired{Instance: instance, Attempt: attempt(1, item), Version: 1})
		}
	}
	return Answered{sequence, reply}
}

// ahead makes it an answer by which instance 0 holds the attempt at an item of job 1 ahead.
func ahead(a Answered, item int) Answered {
	a.Reply.Instances[0].Next = &api.NextItem{Attempt: attempt(1, item)}
	return a
}

// takes makes it an answer of a supervisor that takes differences.
func takes(a Answered) Answered {
	a.Reply.Differences = true
	return a
}

// differs makes it an answer with the differences from an earlier one, to a list of so many.
func differs(a Answered, since uint64, all ...api.Desired) Answered {
	var digest listdigest.Digest
	for _, d := range all {
		digest.Add(desiredLine(&d))
	}
	a.Reply.Since, a.Reply.Digest = since, digest.String()
	return a
}

func desired(instance, item int) api.Desired {
	return api.Desired{Instance: instance, Attempt: attempt(1, item), Version: 1}
}

// standing is an answer that wants the only attempt to stand still, under that number.
func standing(sequence uint64, number int64, item int) Answered {
	a := answer(sequence, 1, item)
	a.Reply.Instances[0].Suspended, a.Reply.Instances[0].SuspensionID = true, number
	return a
}

func ended(instance, item int, outcome string) ItemEnded {
	return ItemEnded{Key{1, instance}, api.Finished{Attempt: attempt(1, item), Instance: instance, Outcome: outcome, ExitCode: exitOf(outcome)}}
}

// coreStep is a line of a dialogue: after a while an event comes, and the core says what it wants.
type coreStep struct {
	after time.Duration
	event Event
	want  string
}

const ms = time.Millisecond

// coreBegin brings 1.0 to run its first item, with sync 2 held by the supervisor.
var coreBegin = []coreStep{
	{0, Booted{}, "sync 1 []"},
	{ms, answer(1, 1, 0), "save epoch 1; start 1.0 with 1-0-1"},
	{ms, ItemStarted{Key{1, 0}, attempt(1, 0)}, ""},
	{25 * ms, Ticked{}, "sync 2 [1.0 1-0-1 running]"},
}

var coreDialogues = map[string][]coreStep{
	"an end is told at once, let go, and the next item handed to the same shim": {
		{ms, ended(0, 0, "exit"), "give up sync 2; sync 3 [1.0 1-0-1 idle, 1-0-1 ended: exit]"},
		{ms, answer(3, 1, 1), "forget 1-0-1; hand 1-1-1 to 1.0"},
		{ms, ended(0, 1, "exit"), "sync 4 [1.0 1-1-1 idle, 1-1-1 ended: exit]"},
		{ms, answer(4, 1), "forget 1-1-1; close 1.0; sync 5 []"},
		{ms, ShimGone{Key{1, 0}}, ""},
	},
	"a record is kept while the answer still lists its attempt": {
		{ms, ended(0, 0, "exit"), "give up sync 2; sync 3 [1.0 1-0-1 idle, 1-0-1 ended: exit]"},
		{ms, answer(3, 1, 0), ""},
		{100 * ms, Ticked{}, "sync 4 [1.0 1-0-1 idle, 1-0-1 ended: exit]"},
		{ms, answer(4, 1), "forget 1-0-1; close 1.0; sync 5 []"},
	},
	"an answer to a sync that did not carry the record lets nothing go": {
		{ms, Unanswered{Sequence: 2}, ""},
		{5000 * ms, Ticked{}, "sync 3 [1.0 1-0-1 running]"},
		{ms, answer(3, 1, 0), "lease of 1.0 until 10m5.028s"},
		{ms, ended(0, 0, "exit"), "sync 4 [1.0 1-0-1 idle, 1-0-1 ended: exit]"},
		{ms, answer(3, 1), ""},
		{ms, answer(4, 1), "forget 1-0-1; close 1.0; sync 5 []"},
	},
	"an answer of a lower term is a failure": {
		{ms, answer(2, 2, 0), "save epoch 2"},
		{50 * ms, Ticked{}, "sync 3 [1.0 1-0-1 running]"},
		{ms, answer(3, 1), ""},
		{100 * ms, Ticked{}, "sync 4 [1.0 1-0-1 running]"},
		{ms, answer(4, 2), "stop 1-0-1 on 1.0; sync 5 [1.0 1-0-1 stopping]"},
	},
	"a stop is ordered once and proved by the end": {
		{ms, answer(2, 1), "stop 1-0-1 on 1.0; sync 3 [1.0 1-0-1 stopping]"},
		{ms, answer(3, 1), ""},
		{50 * ms, Ticked{}, "sync 4 [1.0 1-0-1 stopping]"},
		{ms, ended(0, 0, "stopped"), "close 1.0; give up sync 4; sync 5 [1-0-1 ended: stopped]"},
		{ms, answer(5, 1), "forget 1-0-1; sync 6 []"},
	},
	"another attempt in the instance ends the one that runs": {
		{ms, answer(2, 1, 1), "stop 1-0-1 on 1.0; sync 3 [1.0 1-0-1 stopping]"},
		{ms, ended(0, 0, "stopped"), "hand 1-1-1 to 1.0; give up sync 3; sync 4 [1.0 1-1-1 starting, 1-0-1 ended: stopped]"},
	},
	"an instance that comes back while it closes waits for its shim's end": {
		{ms, ended(0, 0, "exit"), "give up sync 2; sync 3 [1.0 1-0-1 idle, 1-0-1 ended: exit]"},
		{ms, answer(3, 1), "forget 1-0-1; close 1.0; sync 4 []"},
		{ms, answer(4, 1, 1), ""},
		{ms, ShimGone{Key{1, 0}}, "start 1.0 with 1-1-1"},
	},
	"a shim out of sight is unknown; its end is a loss": {
		{ms, ShimUnreachable{Key{1, 0}}, ""},
		{ms, answer(2, 1, 0), ""},
		{50 * ms, Ticked{}, "sync 3 [1.0 1-0-1 unknown]"},
		{ms, ended(0, 0, "lost"), "close 1.0; give up sync 3; sync 4 [1-0-1 ended: lost]"},
		{ms, ShimGone{Key{1, 0}}, ""},
		{ms, answer(4, 1, 1), "forget 1-0-1; start 1.0 with 1-1-1"},
	},
	"an item on its way to a shim that was lost from sight is handed again": {
		{ms, ended(0, 0, "exit"), "give up sync 2; sync 3 [1.0 1-0-1 idle, 1-0-1 ended: exit]"},
		{ms, answer(3, 1, 1), "forget 1-0-1; hand 1-1-1 to 1.0"},
		{ms, ShimUnreachable{Key{1, 0}}, ""},
		{ms, ShimReached{Adopted{Key{1, 0}, attempt(1, 0), StateIdle, false}, false}, "hand 1-1-1 to 1.0"},
	},
	"a tree that outlives KILL is told as unkillable": {
		{ms, Unanswered{Sequence: 2}, ""},
		{ms, ShimMeasured{Key: Key{1, 0}, Unkillable: true}, ""},
		{time.Hour, Ticked{}, "sync 3 [1.0 1-0-1 unkillable]"},
	},
	"a frozen tree is told of each later lease": {
		{ms, ShimMeasured{Key: Key{1, 0}, Frozen: true}, "lease of 1.0 until 10m0s"},
		{ms, Unanswered{Sequence: 2}, ""},
		{time.Hour, Ticked{}, "sync 3 [1.0 1-0-1 frozen]"},
		{ms, answer(3, 1, 0), "lease of 1.0 until 1h10m0.029s"},
	},
	"a standstill is reported with the number of its suspension, soon, and a later suspension is told anew": {
		{ms, standing(2, 7, 0), "suspend 1-0-1: true, 7"},
		{ms, ShimMeasured{Key: Key{1, 0}, Frozen: true, Suspended: true}, ""}, // a part of it runs
		{50 * ms, Ticked{}, "sync 3 [1.0 1-0-1 suspended]"},
		{ms, ShimMeasured{Key: Key{1, 0}, Frozen: true, Suspended: true, SuspensionID: 7}, ""},
		{time.Second, Ticked{}, "give up sync 3; sync 4 [1.0 1-0-1 suspended under 7]"},
		{ms, standing(4, 9, 0), "suspend 1-0-1: true, 9; lease of 1.0 until 10m1.08s"},
		{ms, ShimUnreachable{Key{1, 0}}, ""},
		{ms, ShimReached{Adopted{Key{1, 0}, attempt(1, 0), StateSuspended, false}, false}, "suspend 1-0-1: true, 9; lease of 1.0 until 10m1.08s"},
		{50 * ms, Ticked{}, "sync 5 [1.0 1-0-1 suspended]"},
		{ms, answer(5, 1, 0), "suspend 1-0-1: false, 0"},
	},
	"the worker's own end stops all and tells it": {
		{ms, Closing{"bye"}, "stop 1-0-1 on 1.0"},
		{ms, ended(0, 0, "stopped"), "close 1.0; give up sync 2; sync 3 [1-0-1 ended: stopped]"},
		{ms, ShimGone{Key{1, 0}}, ""},
		{ms, answer(3, 1, 5), "forget 1-0-1; sync 4 []"},
	},
	"a supervisor that takes differences hears what has changed since its last answer": {
		{ms, takes(answer(2, 1, 0, 1, 2)), "start 1.1 with 1-1-1; start 1.2 with 1-2-1"},
		{25 * ms, Ticked{}, "sync 3 since 2 [1.1 1-1-1 starting, 1.2 1-2-1 starting]"},
		{ms, takes(answer(3, 1, 0, 1, 2)), ""},
		{50 * ms, Ticked{}, "sync 4 since 3 []"},
		{ms, ended(0, 0, "exit"), "give up sync 4; sync 5 since 3 [1.0 1-0-1 idle, 1-0-1 ended: exit]"},
		{ms, takes(answer(5, 1, 3, 1, 2)), "forget 1-0-1; hand 1-3-1 to 1.0"},
		{25 * ms, Ticked{}, "sync 6 since 5 [1.0 1-3-1 starting, 1-0-1 gone]"},
	},
	"differences have what changed in a sync that had no answer, and what changed back": {
		{ms, takes(answer(2, 1, 0, 1, 2)), "start 1.1 with 1-1-1; start 1.2 with 1-2-1"},
		{25 * ms, Ticked{}, "sync 3 since 2 [1.1 1-1-1 starting, 1.2 1-2-1 starting]"},
		{ms, takes(answer(3, 1, 0, 1, 2)), ""},
		{ms, ShimUnreachable{Key{1, 0}}, ""},
		{50 * ms, Ticked{}, "sync 4 since 3 [1.0 1-0-1 unknown]"},
		{ms, ShimReached{Adopted{Key{1, 0}, attempt(1, 0), StateRunning, false}, false}, "suspend 1-0-1: false, 0; lease of 1.0 until 10m0.053s"},
		{ms, ended(1, 1, "exit"), "give up sync 4; sync 5 since 3 [1.0 1-0-1 running, 1.1 1-1-1 idle, 1-1-1 ended: exit]"},
	},
	"after a failure, and in another term, the list is complete": {
		{ms, takes(answer(2, 1, 0, 1)), "start 1.1 with 1-1-1"},
		{25 * ms, Ticked{}, "sync 3 since 2 [1.1 1-1-1 starting]"},
		{ms, takes(answer(3, 1, 0, 1)), ""},
		{50 * ms, Ticked{}, "sync 4 since 3 []"},
		{ms, Unanswered{Sequence: 4}, ""},
		{5000 * ms, Ticked{}, "sync 5 [1.0 1-0-1 running, 1.1 1-1-1 starting]"},
		{ms, takes(answer(5, 1, 0, 1)), "lease of 1.0 until 10m5.105s; lease of 1.1 until 10m5.105s"},
		{50 * ms, Ticked{}, "sync 6 since 5 []"},
		{ms, answer(6, 2, 0, 1), "save epoch 2"},
		{50 * ms, Ticked{}, "sync 7 [1.0 1-0-1 running, 1.1 1-1-1 starting]"},
	},
	"an answer has differences from the last one that was taken": {
		{ms, answer(2, 1, 0, 1, 2), "start 1.1 with 1-1-1; start 1.2 with 1-2-1"},
		{25 * ms, Ticked{}, "sync 3 [1.0 1-0-1 running, 1.1 1-1-1 starting, 1.2 1-2-1 starting]"},
		{ms, differs(answer(3, 1, 7), 5, desired(0, 7), desired(1, 1), desired(2, 2)), "stop 1-0-1 on 1.0; sync 4 [1.0 1-0-1 stopping, 1.1 1-1-1 starting, 1.2 1-2-1 starting]"},
	},
	"an answer whose differences are from another one, or lead elsewhere, is not taken": {
		{ms, answer(2, 1, 0, 1, 2), "start 1.1 with 1-1-1; start 1.2 with 1-2-1"},
		{25 * ms, Ticked{}, "sync 3 [1.0 1-0-1 running, 1.1 1-1-1 starting, 1.2 1-2-1 starting]"},
		{ms, differs(answer(3, 1), 4, desired(0, 0), desired(1, 1), desired(2, 2)), ""},
		{100 * ms, Ticked{}, "sync 4 [1.0 1-0-1 running, 1.1 1-1-1 starting, 1.2 1-2-1 starting]"},
		{ms, differs(answer(4, 1), 5, desired(0, 0), desired(1, 1)), ""},
		{300 * ms, Ticked{}, "sync 5 [1.0 1-0-1 running, 1.1 1-1-1 starting, 1.2 1-2-1 starting]"},
		{ms, answer(5, 1, 0, 1), "stop 1-2-1 on 1.2; sync 6 [1.0 1-0-1 running, 1.1 1-1-1 starting, 1.2 1-2-1 stopping]"},
	},
	"an item that is held ahead begins when the one before it is done": {
		{ms, ahead(answer(2, 1, 0), 1), ""},
		{50 * ms, Ticked{}, "sync 3 [1.0 1-0-1 running]"},
		{ms, ended(0, 0, "exit"), "hand 1-1-1 to 1.0; give up sync 3; sync 4 [1.0 1-1-1 starting, 1-0-1 ended: exit]"},
		{ms, ItemStarted{Key{1, 0}, attempt(1, 1)}, ""},
		{ms, ahead(answer(3, 1, 0), 1), ""}, // given before the end was heard
		{ms, ended(0, 1, "exit"), ""},
		{ms, ahead(answer(4, 1, 1), 2), "forget 1-0-1; hand 1-2-1 to 1.0; sync 5 [1.0 1-2-1 starting, 1-1-1 ended: exit]"},
	},
	"an agent that starts again lets it run on": {
		{ms, ahead(answer(2, 1, 0), 1), ""},
		{50 * ms, Ticked{}, "sync 3 [1.0 1-0-1 running]"},
		{ms, ended(0, 0, "exit"), "hand 1-1-1 to 1.0; give up sync 3; sync 4 [1.0 1-1-1 starting, 1-0-1 ended: exit]"},
		{ms, Booted{Instances: []Adopted{{Key{1, 0}, attempt(1, 1), StateRunning, false}}, Finished: []api.Finished{ended(0, 0, "exit").Finished}},
			"suspend 1-1-1: false, 0; lease of 1.0 until 10m0.027s"},
		{ms, ahead(answer(4, 1, 0), 1), "save epoch 1; sync 5 [1.0 1-1-1 running, 1-0-1 ended: exit]"}, // it has read nothing yet
	},
	"after a failure it waits for an answer": {
		{ms, ahead(answer(2, 1, 0), 1), ""},
		{50 * ms, Ticked{}, "sync 3 [1.0 1-0-1 running]"},
		{ms, ended(0, 0, "memory"), "give up sync 3; sync 4 [1.0 1-0-1 idle, 1-0-1 ended: memory]"},
		{ms, answer(4, 1, 1), "forget 1-0-1; hand 1-1-1 to 1.0"},
	},
	"an answer that has read neither end lets go of neither": {
		{ms, ahead(answer(2, 1, 0), 1), ""},
		{50 * ms, Ticked{}, "sync 3 [1.0 1-0-1 running]"},
		{ms, ended(0, 0, "exit"), "hand 1-1-1 to 1.0; give up sync 3; sync 4 [1.0 1-1-1 starting, 1-0-1 ended: exit]"},
		{ms, ended(0, 1, "exit"), ""},
		{100 * ms, Ticked{}, "give up sync 4; sync 5 [1.0 1-1-1 idle, 1-0-1 ended: exit, 1-1-1 ended: exit]"},
		{ms, answer(5, 1, 0), ""}, // of a leader that has read the greeting alone
		{time.Second, Ticked{}, "sync 6 [1.0 1-1-1 idle, 1-0-1 ended: exit, 1-1-1 ended: exit]"},
		{ms, answer(6, 1, 2), "forget 1-0-1; forget 1-1-1; hand 1-2-1 to 1.0"},
	},
	"it is handed back if an answer names it no longer, unless it has begun": {
		{ms, ahead(answer(2, 1, 0), 1), ""},
		{50 * ms, Ticked{}, "sync 3 [1.0 1-0-1 running]"},
		{ms, answer(3, 1, 0), ""},
		{50 * ms, Ticked{}, "sync 4 [1.0 1-0-1 running]"},
		{ms, ahead(answer(4, 1, 0), 2), ""},
		{50 * ms, Ticked{}, "sync 5 [1.0 1-0-1 running]"},
		{ms, ended(0, 0, "exit"), "hand 1-2-1 to 1.0; give up sync 5; sync 6 [1.0 1-2-1 starting, 1-0-1 ended: exit]"},
		{ms, answer(5, 1, 0), ""}, // the supervisor has not heard of the end
		{ms, answer(6, 1), "forget 1-0-1; stop 1-2-1 on 1.0; sync 7 [1.0 1-2-1 stopping]"},
	},
	"several ends within moments share a sync": {
		{ms, answer(2, 1, 0, 1, 2), "start 1.1 with 1-1-1; start 1.2 with 1-2-1"},
		{ms, ended(0, 0, "exit"), "sync 3 [1.0 1-0-1 idle, 1.1 1-1-1 starting, 1.2 1-2-1 starting, 1-0-1 ended: exit]"},
		{ms, ended(1, 1, "exit"), ""},
		{ms, ended(2, 2, "exit"), ""},
		{ms, answer(3, 1, 3, 1, 2), "forget 1-0-1; hand 1-3-1 to 1.0; sync 4 [1.0 1-3-1 starting, 1.1 1-1-1 idle, 1.2 1-2-1 idle, 1-1-1 ended: exit, 1-2-1 ended: exit]"},
	},
	"a result does not wait long for the answer to an earlier one": {
		{ms, answer(2, 1, 0, 1), "start 1.1 with 1-1-1"},
		{ms, ended(0, 0, "exit"), "sync 3 [1.0 1-0-1 idle, 1.1 1-1-1 starting, 1-0-1 ended: exit]"},
		{ms, ended(1, 1, "exit"), ""},
		{100 * ms, Ticked{}, "give up sync 3; sync 4 [1.0 1-0-1 idle, 1.1 1-1-1 idle, 1-0-1 ended: exit, 1-1-1 ended: exit]"},
	},
}

func TestCoreDialogues(t *testing.T) {
	for name, steps := range coreDialogues {
		t.Run(name, func(t *testing.T) {
			c := NewCore(api.Sync{Host: "h"}, DefaultLimits(), 1)
			now := Moment(0)
			for i, s := range append(slices.Clone(coreBegin), steps...) {
				now += s.after
				if got := said(c.Step(now, s.event)); got != s.want {
					t.Fatalf("step %d, %T at %v\n got: %s\nwant: %s", i-len(coreBegin), s.event, now, got, s.want)
				}
			}
		})
	}
}

// world is a supervisor, a network that loses, and shims, around one core. A core's death takes its
// memory; what shims and folders hold stays.
type world struct {
	t     *rapid.T
	core  *Core
	now   Moment
	life  int
	shims map[Key]*fakeShim
	spool map[api.AttemptID]api.Finished

	starts  map[api.AttemptID]int
	wanted  map[Key]api.AttemptID
	known   map[api.AttemptID]bool // ends that the supervisor has counted
	next    int
	items   int
	random  int
	pending []api.Sync // on their way
	lastSeq uint64
	lists   map[uint64]map[api.AttemptID]api.SyncInstance // complete, of all syncs of this life
}

type fakeShim struct {
	attempt api.AttemptID
	running bool
}

func (w *world) boot() {
	w.life++
	w.pending, w.lastSeq, w.lists = nil, 0, map[uint64]map[api.AttemptID]api.SyncInstance{}
	w.core = NewCore(api.Sync{Incarnation: fmt.Sprint(w.life)}, DefaultLimits(), uint64(w.life))
	b := Booted{}
	for key, s := range w.shims {
		state := StateIdle
		if s.running {
			state = StateRunning
		}
		b.Instances = append(b.Instances, Adopted{Key: key, Attempt: s.attempt, State: state})
	}
	for _, f := range w.spool {
		b.Finished = append(b.Finished, f)
	}
	w.step(b)
}

func (w *world) step(ev Event) {
	for _, o := range w.core.Step(w.now, ev) {
		switch o := o.(type) {
		case StartShim:
			if w.shims[o.Key] != nil {
				w.t.Fatalf("a second shim for %s", o.Key)
			}
			w.shims[o.Key] = &fakeShim{}
			w.run(o.Key, o.Item.Desired.Attempt)
		case HandItem:
			if w.shims[o.Key] == nil || w.shims[o.Key].running {
				w.t.Fatalf("an item for a shim that cannot take it: %s", o.Key)
			}
			w.run(o.Key, o.Item.Desired.Attempt)
		case CloseShim:
			if s := w.shims[o.Key]; s == nil || s.running {
				w.t.Fatalf("%s is closed while it runs", o.Key)
			}
		case Forget:
			if !w.known[o.Attempt] {
				w.t.Fatalf("%s is forgotten before it counted", attemptName(o.Attempt))
			}
			delete(w.spool, o.Attempt)
		case SendSync:
			w.absenceIsProof(o.Sync)
			w.pending = append(w.pending, o.Sync)
		}
	}
}

func (w *world) run(key Key, id api.AttemptID) {
	if w.starts[id]++; w.starts[id] > 1 {
		w.t.Fatalf("%s runs twice", attemptName(id))
	}
	w.shims[key].attempt, w.shims[key].running = id, true
}

func (w *world) absenceIsProof(s api.Sync) {
	listed := map[api.AttemptID]bool{}
	for id := range w.complete(s) {
		listed[id] = true
	}
	for _, f := range s.Finished {
		listed[f.Attempt] = true
	}
	for key, shim := range w.shims {
		if shim.running && !listed[shim.attempt] {
			w.t.Fatalf("sync %d is silent about %s, which runs on %s", s.Sequence, attemptName(shim.attempt), key)
		}
	}
	for id := range w.spool {
		if !listed[id] {
			w.t.Fatalf("sync %d is silent about the end of %s", s.Sequence, attemptName(id))
		}
	}
}

// complete is the list of a sync, made of its differences from that of any sync since.
func (w *world) complete(s api.Sync) map[api.AttemptID]api.SyncInstance {
	list := map[api.AttemptID]api.SyncInstance{}
	if s.Since != 0 {
		list = maps.Clone(w.lists[s.Since+uint64(w.random)%(s.Sequence-s.Since)])
	}
	for _, id := range s.Gone {
		delete(list, id)
	}
	var digest listdigest.Digest
	for _, i := range s.Instances {
		list[i.Attempt] = i
	}
	for _, i := range list {
		digest.Add(reportedLine(&i))
	}
	if s.Since != 0 && digest.String() != s.Digest {
		w.t.Fatalf("sync %d has other differences since %d than its digest", s.Sequence, s.Since)
	}
	w.lists[s.Sequence] = list
	return list
}

func (w *world) end(key Key, outcome string) {
	s := w.shims[key]
	s.running = false
	f := api.Finished{Attempt: s.attempt, Instance: key.Instance, Outcome: outcome}
	w.spool[s.attempt] = f
	w.step(ItemEnded{key, f})
}

// serve is the supervisor: it counts ends and gives each free instance the next item.
func (w *world) serve(s api.Sync) api.SyncReply {
	if s.Sequence > w.lastSeq {
		w.lastSeq = s.Sequence
		for _, f := range s.Finished {
			w.known[f.Attempt] = true
			if key := (Key{1, f.Instance}); w.wanted[key] == f.Attempt {
				delete(w.wanted, key)
			}
		}
		for instance := range 3 {
			key := Key{1, instance}
			if _, busy := w.wanted[key]; !busy && w.next < w.items {
				w.wanted[key] = attempt(1, w.next)
				w.next++
			}
		}
	}
	reply := api.SyncReply{Epoch: 1, Term: signedTerm(farmKey, "a", 1), Sequence: s.Sequence, Answer: 2*s.Sequence + 1, LeaseSeconds: 1e6, Jobs: []api.JobSpec{{Job: 1, Version: 1}}, Differences: w.random > 0}
	for key, id := range w.wanted {
		reply.Instances = append(reply.Instances, api.Desired{Instance: key.Instance, Attempt: id, Version: 1})
	}
	return reply
}

func (w *world) deliver(arrives, returns bool) {
	if len(w.pending) == 0 {
		return
	}
	s := w.pending[0]
	w.pending = w.pending[1:]
	if arrives {
		if reply := w.serve(s); returns {
			w.step(Answered{s.Sequence, reply})
			return
		}
	}
	w.step(Unanswered{Sequence: s.Sequence})
}

func (w *world) keys(which func(*fakeShim) bool) (keys []Key) {
	for key, s := range w.shims {
		if which(s) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

func running(s *fakeShim) bool { return s.running }

func idle(s *fakeShim) bool { return !s.running }

func TestCoreLosesNothingAndRunsNothingTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			t: t, shims: map[Key]*fakeShim{}, spool: map[api.AttemptID]api.Finished{}, starts: map[api.AttemptID]int{},
			wanted: map[Key]api.AttemptID{}, known: map[api.AttemptID]bool{}, items: 12,
		}
		w.boot()
		for range rapid.IntRange(0, 120).Draw(t, "steps") {
			w.now += time.Duration(rapid.IntRange(0, 200).Draw(t, "ms")) * time.Millisecond
			w.random = rapid.IntRange(0, 7).Draw(t, "random")
			switch rapid.SampledFrom([]string{"tick", "answer", "answer", "lose", "lose-answer", "end", "end", "die", "shim-dies", "gone", "cancel"}).Draw(t, "what") {
			case "tick":
				w.step(Ticked{})
			case "answer":
				w.deliver(true, true)
			case "lose":
				w.deliver(false, false)
			case "lose-answer":
				w.deliver(true, false)
			case "end":
				if keys := w.keys(running); len(keys) > 0 {
					key := rapid.SampledFrom(keys).Draw(t, "key")
					w.step(ItemStarted{key, w.shims[key].attempt})
					w.end(key, "exit")
				}
			case "die":
				w.boot()
			case "shim-dies":
				if keys := w.keys(running); len(keys) > 0 {
					key := rapid.SampledFrom(keys).Draw(t, "key")
					w.step(ShimUnreachable{key})
					w.end(key, "lost")
					delete(w.shims, key)
					w.step(ShimGone{key})
				}
			case "gone":
				if keys := w.keys(idle); len(keys) > 0 {
					key := rapid.SampledFrom(keys).Draw(t, "key")
					delete(w.shims, key)
					w.step(ShimGone{key})
				}
			case "cancel": // the supervisor changes its mind; the item counts as over
				if keys := slices.SortedFunc(maps.Keys(w.wanted), compareKeys); len(keys) > 0 {
					delete(w.wanted, rapid.SampledFrom(keys).Draw(t, "key"))
				}
			}
		}
		w.settle()
	})
}

// settle lets the faults stop; then all must end, be reported and be let go.
func (w *world) settle() {
	for range 400 {
		w.now = max(w.now, w.core.Wake()) + time.Millisecond
		w.step(Ticked{})
		w.deliver(true, true)
		for _, key := range w.keys(running) {
			w.end(key, "exit")
		}
		for key, i := range w.core.instances {
			if i.state == StateClosing {
				delete(w.shims, key)
				w.step(ShimGone{key})
			}
		}
		if w.next == w.items && len(w.wanted) == 0 && w.core.Quiet() {
			break
		}
	}
	if len(w.spool) > 0 || len(w.shims) > 0 || w.next < w.items || !w.core.Quiet() {
		w.t.Fatalf("did not settle: spool %v, shims %v, next %d, wanted %v", w.spool, w.shims, w.next, w.wanted)
	}
}

func attempt(job int64, item int) api.AttemptID {
	return api.AttemptID{Job: job, Item: item, Number: 1}
}

func attemptName(id api.AttemptID) string {
	return fmt.Sprintf("%d-%d-%d", id.Job, id.Item, id.Number)
}

// TestEndsAreBounded: ends with more finds and longer reasons than one sync carries go in several. Each goes, once it
// is answered none goes again, and until it has gone its attempt is in the list of what is there.
func TestEndsAreBounded(t *testing.T) {
	c := NewCore(api.Sync{Host: "h"}, DefaultLimits(), 1)
	const ends = 200
	var boot Booted
	for item := range ends {
		f := api.Finished{Attempt: attempt(1, item), Instance: item, Outcome: "launch", Reason: strings.Repeat("<\x01", 100_000)}
		for n := range 50 {
			f.OutputPaths = append(f.OutputPaths, fmt.Sprintf("/%d/%d/<%s>", item, n, strings.Repeat("x", 1000)))
		}
		boot.Finished = append(boot.Finished, f)
	}
	seen, now, syncs := map[api.AttemptID]int{}, Moment(0), 0
	orders := c.Step(now, boot)
	for len(seen) < ends && syncs < 20 {
		var sent *api.Sync
		for _, o := range orders {
			if s, ok := o.(SendSync); ok {
				sent = &s.Sync
			}
		}
		if sent == nil {
			t.Fatalf("no sync goes with %d of %d ends sent: %s", len(seen), ends, said(orders))
		}
		syncs++
		size, there := 0, map[api.AttemptID]bool{}
		for _, f := range sent.Finished {
			seen[f.Attempt]++
			size += endBytes(&f)
			if len(f.Reason) > api.MaxReason {
				t.Fatalf("a reason of %d bytes is sent", len(f.Reason))
			}
		}
		for _, i := range sent.Instances {
			there[i.Attempt] = i.State == StateIdle
		}
		data, err := json.Marshal(sent.Finished)
		if err != nil || size > maxEnds || len(data) > maxEnds+1000*ends || len(seen)+len(there) != ends {
			t.Fatalf("sync %d: %d bytes of finds, %d in all, %d ends so far and %d to come, %v", syncs, size, len(data), len(seen), len(there), err)
		}
		now += Moment(time.Second) // the answer takes its time, and nothing is given up for what waits
		if late := c.Step(now, Ticked{}); len(late) > 0 {
			t.Fatalf("while it waits: %s", said(late))
		}
		orders = c.Step(now, answer(sent.Sequence, 1))
	}
	if syncs < 3 {
		t.Errorf("%d syncs", syncs)
	}
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%v was sent %d times", id, times)
		}
	}
}

// exitOf is the exit code of an item that ended by itself, and was done.
func exitOf(outcome string) *int {
	if outcome != "exit" {
		return nil
	}
	return new(int)
}
