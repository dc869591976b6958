package sim

import (
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
)

// simTruth is what really ran, as the commands themselves would write it down out of qb's reach. Nothing
// of the world reads it but the checks.
type simTruth struct {
	world    *simWorld
	attempts map[facts.AttemptID]*simRun
	running  map[simItemID]*simRun // at this very moment, not frozen
	started  int
}

type simItemID struct {
	job  facts.JobID
	item facts.ItemNo
}

// simRun is one attempt's process.
type simRun struct {
	id      facts.AttemptID
	on      *simHost
	running bool
	ended   bool
	done    bool // by itself, with exit code 0
	stuck   bool // it outlives KILL

	loadOnce bool   // a program has it
	fault    string // of that
	exit     int

	began, over, resumed time.Duration
	computed             time.Duration // while it was not frozen
}

func newSimTruth() *simTruth {
	return &simTruth{attempts: map[facts.AttemptID]*simRun{}, running: map[simItemID]*simRun{}}
}

func truthID(a api.AttemptID) facts.AttemptID {
	return facts.AttemptID{Job: facts.JobID(a.Job), Item: facts.ItemNo(a.Item), Number: a.Number}
}

// begin is the fork of an attempt's process: only what was durably given to this host may start, and
// only once (S6).
func (t *simTruth) begin(attempt api.AttemptID, on *simHost) *simRun {
	id := truthID(attempt)
	if old := t.attempts[id]; old != nil {
		t.world.fail("S6: %v starts on %s, and started on %s before", id, on.name, old.on.name)
		return old
	}
	row := t.world.given(id)
	switch {
	case row == nil:
		t.world.fail("S6: %v starts on %s, and no row knows it", id, on.name)
	case t.world.holder(row) != on:
		t.world.fail("S6: %v starts on %s, and was given to %s", id, on.name, t.world.holder(row).name)
	}
	run := &simRun{id: id, on: on, began: t.world.now}
	t.attempts[id] = run
	t.started++
	on.machine.take(run)
	t.resume(run)
	return run
}

// resume is the moment from which the process computes. Two attempts of one item never do so at the same
// time (S2), nor does one whose end the rows tell.
func (t *simTruth) resume(run *simRun) {
	if run.running || run.ended {
		return
	}
	run.running, run.resumed = true, t.world.now
	item := simItemID{run.id.Job, run.id.Item}
	if other := t.running[item]; other != nil {
		t.world.fail("S2: %v runs on %s while %v runs on %s", run.id, run.on.name, other.id, other.on.name)
	}
	t.running[item] = run
	if row := t.world.given(run.id); row != nil && !row.State.Live() {
		t.world.fail("S2: %v runs on %s, and its row says %s (%s)", run.id, run.on.name, row.State, row.Cause)
	}
}

// pause is a freeze, a suspended host, or the end.
func (t *simTruth) pause(run *simRun) {
	if !run.running {
		return
	}
	run.running = false
	run.computed += t.world.now - run.resumed
	if item := (simItemID{run.id.Job, run.id.Item}); t.running[item] == run {
		delete(t.running, item)
	}
}

func (t *simTruth) end(run *simRun, done bool) {
	if run.ended {
		return
	}
	t.pause(run)
	run.ended, run.done, run.over = true, done, t.world.now
}
