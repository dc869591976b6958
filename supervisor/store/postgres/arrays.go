package postgres

import (
	"slices"
	"time"

	"qb/supervisor/job/facts"
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

// some is the column, or nil if no row has a value there: to Postgres a column of nulls, which costs nothing.
func some[T comparable](column []T) []T {
	var none T
	if slices.ContainsFunc(column, func(v T) bool { return v != none }) {
		return column
	}
	return nil
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
	r.reason[i] = string(w.Reason)
	r.cause[i] = w.Cause
	r.params[i] = paramsToText(w.Params)
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
		at[i] = unless(w.At, time.Time{})
		seconds[i] = w.Seconds
		released[i] = w.Released
	}
	return keys.statement(sqlSuspend, "suspending and resuming attempts", at, seconds, released)
}

func releaseStatement(list []facts.ReleaseAttempt) statement {
	keys, was := newKeys(len(list)), make([]string, len(list))
	at, resuming := make([]*time.Time, len(list)), make([]*time.Time, len(list))
	for i, w := range list {
		keys.add(w.ID)
		was[i] = string(w.From)
		at[i] = unless(w.At, time.Time{})
		resuming[i] = unless(w.Resuming, time.Time{})
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
	was := make([]string, n)
	state := make([]string, n)
	whys := newReasons(n)
	again := make([]int16, n)
	exit := make([]*int64, n)
	signal := make([]*int64, n)
	peak := make([]int64, n)
	wall := make([]float64, n)
	cpu := make([]float64, n)
	suspended := make([]float64, n)
	released := make([]float64, n)
	started, ended := make([]*time.Time, n), make([]*time.Time, n)
	for i := range list {
		w := &list[i]
		keys.add(w.ID)
		was[i] = string(w.From)
		state[i] = string(w.State)
		again[i] = int16(w.Again)
		whys.set(i, w.Why)
		exit[i] = int64Of(w.ExitCode)
		signal[i] = int64Of(w.Signal)
		wall[i] = w.Wall
		cpu[i] = w.CPU
		peak[i] = w.Peak
		suspended[i], released[i] = w.Suspended, w.Released
		started[i], ended[i] = unless(w.StartedAt, time.Time{}), unless(w.EndedAt, time.Time{})
	}
	columns := append([]any{was, state, some(again), some(whys.cause), exit, some(signal), wall, cpu, peak, ended},
		chargeColumns(list)...)
	columns = append(columns, some(whys.reason), some(whys.params), some(suspended), some(released), some(started))
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
			rows = append(rows, row{w.ID.Job, w.ID.Item, w.ID.Number,
				facts.Found{Highlights: rules.CleanAll(w.Found.Highlights), OutputPaths: rules.CleanAll(w.Found.OutputPaths),
					Result: rules.Clean(w.Found.Result)}})
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

// startStatements look for the jobs of attempts that start, and add the attempts.
func startStatements(list []facts.AttemptFacts) []statement {
	n := len(list)
	keys := newKeys(n)
	host := make([]string, n)
	boot := make([]string, n)
	stateID := make([]string, n)
	kind := make([]string, n)
	owner := make([]string, n)
	state := make([]string, n)
	instance := make([]int64, n)
	slots := make([]int64, n)
	memory := make([]int64, n)
	started, holds := make([]time.Time, n), make([]*string, n)
	behindItem, behindNumber := make([]*int32, n), make([]*int32, n)
	for i, a := range list {
		keys.add(a.AttemptID)
		if a.Ahead() {
			behindItem[i], behindNumber[i] = new(int32(a.BehindItem)), new(int32(a.BehindNumber))
		}
		holds[i] = holdsToText(a)
		host[i] = string(a.Host)
		boot[i] = a.Boot
		stateID[i] = a.StateID
		kind[i] = a.Kind.String()
		owner[i] = a.Owner
		state[i] = string(a.State)
		instance[i] = int64(a.Instance)
		slots[i] = int64(a.Slots)
		memory[i] = a.Memory
		started[i] = a.StartedAt
	}
	start := keys.statement(sqlStart, "starting attempts", host, boot, stateID, instance, kind, owner, slots, memory,
		started, state, some(holds), some(behindItem), some(behindNumber))
	start.lasting = true
	jobs := slices.Compact(slices.Sorted(slices.Values(keys.jobs)))
	return []statement{{sql: sqlJobsOfStarts, args: []any{jobs}, writes: len(jobs), lasting: true,
		what: "finding the jobs of attempts that start"}, start}
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
		c.first = append(c.first, int32(m.First))
		c.last = append(c.last, int32(m.Last))
		c.step = append(c.step, int32(m.Step))
		c.kind = append(c.kind, string(m.Kind))
		c.by = append(c.by, m.By)
		c.at = append(c.at, m.At)
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
	return []statement{{sql: sqlDeleteMarks, args: args, writes: len(gone.jobs), what: "removing marks"},
		added.statement()}
}

func eventStatement(epoch int64, events []facts.EventFacts) statement {
	n := len(events)
	at, kind := make([]time.Time, n), make([]string, n)
	job := make([]int64, n)
	item := make([]int32, n)
	instance := make([]int64, n)
	host := make([]string, n)
	by := make([]string, n)
	whys := newReasons(n)
	for i, e := range events {
		e = rules.NormalEvent(e)
		at[i] = e.At
		kind[i] = e.Type
		job[i] = int64(e.Job)
		item[i] = int32(e.Item)
		instance[i] = int64(e.Instance)
		host[i], by[i] = string(e.Host), e.By
		whys.set(i, e.Why)
	}
	args := []any{epoch, at, kind, job, item, instance, host, by, whys.cause, whys.reason, whys.params}
	return statement{sql: sqlAddEvents, args: args, writes: n, lasting: true, what: "adding events"}
}
