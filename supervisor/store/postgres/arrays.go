package postgres

import (
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/store/rules"
)

// What follows turns rows into columns: one array an argument, as unnest takes them.

// keys are the first three columns of every statement on attempts.
type keys struct {
	jobs  []int64
	items []int32
	nums  []int32
	ids   []facts.AttemptID
}

func newKeys(n int) *keys {
	return &keys{make([]int64, 0, n), make([]int32, 0, n), make([]int32, 0, n), make([]facts.AttemptID, 0, n)}
}

func (k *keys) add(id facts.AttemptID) {
	k.jobs = append(k.jobs, int64(id.Job))
	k.items = append(k.items, int32(id.Item))
	k.nums = append(k.nums, int32(id.Number))
	k.ids = append(k.ids, id)
}

func (k *keys) statement(sql, what string, columns ...any) statement {
	args := append([]any{k.jobs, k.items, k.nums}, columns...)
	return statement{sql: sql, args: args, writes: len(k.ids), what: what, ids: k.ids}
}

// reasons are the columns of farm.Why.
type reasons struct {
	reason, cause []string
	params        []*string
}

func newReasons(n int) reasons {
	return reasons{make([]string, n), make([]string, n), make([]*string, n)}
}

func (r *reasons) set(i int, w facts.Why) {
	r.reason[i], r.cause[i], r.params[i] = string(w.Reason), w.Cause, paramsToText(w.Params)
}

// whyStatement is for attempts that stop, or that are the last of their instances.
func whyStatement(sql, what string, list []facts.StopAttempt) statement {
	keys, whys := newKeys(len(list)), newReasons(len(list))
	for i, w := range list {
		keys.add(w.ID)
		whys.set(i, w.Why)
	}
	return keys.statement(sql, what, whys.reason, whys.params, whys.cause)
}

func suspendStatement(list []facts.SuspendAttempt) statement {
	keys, at := newKeys(len(list)), make([]*time.Time, len(list))
	seconds, released := make([]float64, len(list)), make([]float64, len(list))
	for i, w := range list {
		keys.add(w.ID)
		at[i], seconds[i], released[i] = unless(w.At, time.Time{}), w.Seconds, w.Released
	}
	return keys.statement(sqlSuspend, "suspending and resuming attempts", at, seconds, released)
}

func releaseStatement(list []facts.ReleaseAttempt) statement {
	keys, was := newKeys(len(list)), make([]string, len(list))
	at, resuming := make([]*time.Time, len(list)), make([]*time.Time, len(list))
	for i, w := range list {
		keys.add(w.ID)
		was[i], at[i], resuming[i] = string(w.From), unless(w.At, time.Time{}), unless(w.Resuming, time.Time{})
	}
	return keys.statement(sqlRelease, "releasing the slots of attempts", was, at, resuming)
}

func relabelStatement(list []facts.RelabelAttempt) statement {
	keys, kinds := newKeys(len(list)), make([]string, len(list))
	for i, w := range list {
		keys.add(w.ID)
		kinds[i] = w.Kind.String()
	}
	return keys.statement(sqlRelabel, "changing the kind of attempts", kinds)
}

func endStatement(list []facts.EndAttempt) statement {
	n := len(list)
	keys := newKeys(n)
	was, state, whys := make([]string, n), make([]string, n), newReasons(n)
	again := make([]int16, n)
	exit, signal, peak := make([]*int, n), make([]*int, n), make([]int64, n)
	wall, cpu, suspended, released := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	ended := make([]*time.Time, n)
	for i, w := range list {
		keys.add(w.ID)
		was[i], state[i], again[i] = string(w.From), string(w.State), int16(w.Again)
		whys.set(i, w.Why)
		exit[i], signal[i], wall[i], cpu[i], peak[i] = w.ExitCode, w.Signal, w.Wall, w.CPU, w.Peak
		suspended[i], released[i] = w.Suspended, w.Released
		ended[i] = unless(w.EndedAt, time.Time{})
	}
	columns := append([]any{was, state, again, whys.cause, exit, signal, wall, cpu, peak, ended}, chargeColumns(list)...)
	columns = append(columns, whys.reason, whys.params, suspended, released)
	return keys.statement(sqlEnd, "ending attempts", columns...)
}

// foundStatement adds what was found in the output of attempts that end.
func foundStatement(list []facts.EndAttempt) statement {
	type row struct {
		Job    facts.JobID  `json:"job"`
		Item   facts.ItemNo `json:"item"`
		Number int          `json:"number"`
		facts.Found
	}
	var rows []row
	for n := range list {
		if w := &list[n]; !w.Found.Empty() {
			rows = append(rows, row{w.ID.Job, w.ID.Item, w.ID.Number, facts.Found{Highlights: rules.CleanAll(w.Found.Highlights), OutputPaths: rules.CleanAll(w.Found.OutputPaths)}})
		}
	}
	return statement{sql: sqlAddFound, args: []any{rows}, writes: len(rows), what: "adding what was found in output"}
}

func reopenStatement(list []facts.AttemptID) statement {
	keys := newKeys(len(list))
	for _, id := range list {
		keys.add(id)
	}
	return keys.statement(sqlReopen, "letting items run again")
}

func startStatement(list []facts.AttemptFacts) statement {
	n := len(list)
	keys := newKeys(n)
	host, boot, stateID := make([]string, n), make([]string, n), make([]string, n)
	kind, owner, state := make([]string, n), make([]string, n), make([]string, n)
	instance, slots, memory := make([]int64, n), make([]int64, n), make([]int64, n)
	started, holds := make([]time.Time, n), make([]*string, n)
	for i, a := range list {
		keys.add(a.AttemptID)
		holds[i] = holdsToText(a)
		host[i], boot[i], stateID[i] = string(a.Host), a.Boot, a.StateID
		kind[i], owner[i], state[i] = a.Kind.String(), a.Owner, string(a.State)
		instance[i], slots[i], memory[i], started[i] = int64(a.Instance), int64(a.Slots), a.Memory, a.StartedAt
	}
	return keys.statement(sqlStart, "starting attempts", host, boot, stateID, instance, kind, owner, slots, memory,
		started, state, holds)
}

// markColumns are marks of jobs as columns.
type markColumns struct {
	jobs              []int64
	first, last, step []int32
	kind, by          []string
	at                []time.Time
}

func (c *markColumns) add(job facts.JobID, marks []facts.Mark) {
	for _, m := range marks {
		c.jobs = append(c.jobs, int64(job))
		c.first, c.last, c.step = append(c.first, int32(m.First)), append(c.last, int32(m.Last)), append(c.step, int32(m.Step))
		c.kind, c.by, c.at = append(c.kind, string(m.Kind)), append(c.by, m.By), append(c.at, m.At)
	}
}

func (c *markColumns) statement() statement {
	args := []any{c.jobs, c.first, c.last, c.step, c.kind, c.by, c.at}
	return statement{sql: sqlInsertMarks, args: args, writes: len(c.jobs), what: "writing marks"}
}

func markStatements(changes []facts.ChangeMarks) []statement {
	var gone, added markColumns
	for _, w := range changes {
		gone.add(w.Job, w.Remove)
		added.add(w.Job, w.Add)
	}
	args := []any{gone.jobs, gone.first, gone.last, gone.step, gone.kind}
	return []statement{{sql: sqlDeleteMarks, args: args, writes: len(gone.jobs), what: "removing marks"}, added.statement()}
}

func eventStatement(epoch int64, events []facts.EventFacts) statement {
	n := len(events)
	at, kind := make([]time.Time, n), make([]string, n)
	job, item, instance := make([]int64, n), make([]int32, n), make([]int64, n)
	host, by, whys := make([]string, n), make([]string, n), newReasons(n)
	for i, e := range events {
		e = rules.NormalEvent(e)
		at[i], kind[i], job[i], item[i], instance[i] = e.At, e.Type, int64(e.Job), int32(e.Item), int64(e.Instance)
		host[i], by[i] = string(e.Host), e.By
		whys.set(i, e.Why)
	}
	args := []any{epoch, at, kind, job, item, instance, host, by, whys.cause, whys.reason, whys.params}
	return statement{sql: sqlAddEvents, args: args, writes: n, what: "adding events"}
}
