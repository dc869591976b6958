package postgres

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/storetest"
)

// Random batches have the same outcome on both stores: accepted or refused alike, and the same facts and answers
// after a refusal and at the end.
func TestStoresAreEqual(t *testing.T) {
	p := emptyPostgres(t)
	pair := &pair{t: t, postgres: p, onP: lead(t, p)}
	rapid.Check(t, func(r *rapid.T) {
		exec(t, p, emptyTables)
		pair.onP.(*term).payers = payers{} // whom it knew is gone
		pair.memory = storetest.NewMemory()
		pair.onM = lead(t, pair.memory)
		for batch := range rapid.IntRange(1, 8).Draw(r, "batches") {
			g := &generator{r: r, shadow: pair.shadow(), touched: map[facts.JobID]bool{}}
			var writes []facts.Write
			for range rapid.IntRange(1, 12).Draw(r, "writes") {
				writes = append(writes, g.write())
			}
			pair.commit(r, batch, writes)
		}
		pair.compare(r)
		pair.compact(r)
	})
	// A test that saw only one outcome has tested nothing.
	if t.Logf("%d batches accepted, %d refused", pair.accepted, pair.refused); pair.accepted == 0 || pair.refused == 0 {
		t.Error("only one outcome was seen")
	}
}

const (
	someJobs  = 3
	someItems = 3
)

// pair is the two stores with a term each.
type pair struct {
	t                 *testing.T
	memory            *storetest.Memory
	postgres          *Store
	onM, onP          store.Term
	accepted, refused int
}

func (p *pair) commit(r *rapid.T, batch int, writes []facts.Write) {
	errM, errP := p.onM.Commit(ctx, writes), p.onP.Commit(ctx, writes)
	if (errM == nil) != (errP == nil) {
		r.Fatalf("batch %d\nmemory: %v\npostgres: %v\n%s", batch, errM, errP, list(writes))
	}
	if errM == nil {
		p.accepted++
		return
	}
	if !errors.Is(errM, store.ErrTermOver) || !errors.Is(errP, store.ErrTermOver) {
		r.Fatalf("batch %d: %v; %v", batch, errM, errP)
	}
	p.refused++
	p.onM, p.onP = lead(p.t, p.memory), lead(p.t, p.postgres)
	p.compare(r)
}

func list(writes []facts.Write) (text string) {
	for _, w := range writes {
		text += fmt.Sprintf("%T%+v\n", w, w)
	}
	return text
}

func (p *pair) compare(r *rapid.T) {
	same := func(what string, m, q any) {
		if d := diff(m, q); d != "" {
			r.Fatalf("%s (-memory +postgres):\n%s", what, d)
		}
	}
	same("facts", load(p.t, p.onM), load(p.t, p.onP))
	for _, key := range answerKeys {
		same("answer", p.answer(p.memory, key), p.answer(p.postgres, key))
	}
	for id := facts.JobID(1); id <= someJobs; id++ {
		same("record", recordOf(p.t, p.memory, id), recordOf(p.t, p.postgres, id))
	}
}

// compact lets the rows age as far as they can, in chunks of some size: no report, ledger or listing tells it.
func (p *pair) compact(r *rapid.T) {
	// each chunk is a version of its jobs
	before, chunk := look(p.t, p.postgres).rounded(), rapid.IntRange(1, 5).Draw(r, "chunk")
	c := compaction(p.onP, must(p.postgres.Closed(ctx, at(1e6), someJobs))(p.t), chunk)
	for must(p.postgres.Compact(ctx, c))(p.t) > 0 {
	}
	if d := diff(before, look(p.t, p.postgres).rounded()); d != "" {
		r.Fatalf("compacting changed (-before +after):\n%s", d)
	}
	if left := must(p.postgres.Closed(ctx, at(1e6), someJobs))(p.t); len(left) > 0 {
		r.Fatalf("still to be compacted are %v", left)
	}
}

// shadow is what the generator knows, so that most of its writes fit.
type shadow struct {
	job      facts.JobFacts
	attempts map[facts.ItemNo]facts.AttemptFacts // the latest
	marks    map[facts.ItemNo]facts.Mark
}

// live says whether an attempt of the job has not ended. A farm then does not end the job, nor starts any of an ended one.
func (s *shadow) live() bool {
	for a := range maps.Values(s.attempts) {
		if a.State.Live() {
			return true
		}
	}
	return false
}

func (p *pair) shadow() map[facts.JobID]*shadow {
	known := map[facts.JobID]*shadow{}
	for id := facts.JobID(1); id <= someJobs; id++ {
		j := recordOf(p.t, p.memory, id)
		if j == nil {
			continue
		}
		s := &shadow{job: j.Job, attempts: map[facts.ItemNo]facts.AttemptFacts{}, marks: map[facts.ItemNo]facts.Mark{}}
		for _, a := range j.Attempts {
			s.attempts[a.Item] = a // the latest comes last
		}
		for _, m := range j.Marks {
			s.marks[m.First] = m
		}
		known[id] = s
	}
	return known
}

type generator struct {
	r       *rapid.T
	shadow  map[facts.JobID]*shadow
	touched map[facts.JobID]bool // jobs that must no longer be added in this batch
}

func (g *generator) odd() bool { return rapid.IntRange(0, 39).Draw(g.r, "odd") == 0 }

func (g *generator) when() float64 { return float64(rapid.IntRange(-2, 9).Draw(g.r, "when")) }

func (g *generator) write() facts.Write {
	id := facts.JobID(rapid.IntRange(1, someJobs).Draw(g.r, "job"))
	s := g.shadow[id]
	if s == nil && !g.odd() && !g.touched[id] {
		job := sampleJob(id)
		job.Submission = fmt.Sprint("s", id)
		g.shadow[id] = &shadow{job: job, attempts: map[facts.ItemNo]facts.AttemptFacts{},
			marks: map[facts.ItemNo]facts.Mark{}}
		return facts.PutJob{Job: job}
	}
	g.touched[id] = true
	switch rapid.IntRange(0, 9).Draw(g.r, "kind") {
	case 5:
		if rapid.IntRange(0, 4).Draw(g.r, "note") == 0 {
			return facts.NoteChange{Jobs: []facts.JobID{id}, At: at(g.when() / 2)}
		}
	case 4:
		if rapid.IntRange(0, 4).Draw(g.r, "answer") == 0 {
			return g.answer()
		}
		return g.shares()
	case 0:
		return g.putJob(id)
	case 1:
		return g.changeMarks(id)
	case 2:
		return facts.AddEvent{Event: facts.EventFacts{At: at(g.when()),
			Type: rapid.SampledFrom([]string{"modified", "job-failed"}).Draw(g.r, "type"),
			Job:  id, Item: facts.ItemNo(rapid.IntRange(-1, 2).Draw(g.r, "item")), Instance: -1}}
	case 3:
		if draw := rapid.IntRange(0, 5).Draw(g.r, "of a host"); draw == 0 {
			return facts.ForgetHost{Host: "h1"}
		} else if draw == 1 {
			names := []facts.HostID{"h1", "h2"}
			from := rapid.IntRange(0, 1).Draw(g.r, "from")
			return facts.RenameHost{From: names[from], To: facts.HostFacts{ID: names[1-from], Slots: 3}}
		}
		return facts.PutHost{Host: facts.HostFacts{ID: facts.HostID(rapid.SampledFrom([]string{"h1", "h2"}).Draw(g.r,
			"host")),
			Slots: rapid.IntRange(0, 8).Draw(g.r, "slots")}}
	}
	return g.attempt(id)
}

func (g *generator) putJob(id facts.JobID) facts.Write {
	job := sampleJob(id)
	if s := g.shadow[id]; s != nil {
		job = s.job
	}
	job.Version++
	if g.odd() {
		job.Version++
	}
	job.FinishedAt = at(g.when())
	states := []facts.JobState{facts.Active, facts.Blocked, facts.Suspended, facts.Complete, facts.KilledJob}
	if s := g.shadow[id]; s != nil && s.live() {
		states = states[:3]
	}
	job.State = rapid.SampledFrom(states).Draw(g.r, "state")
	if !job.State.Final() {
		job.FinishedAt = time.Time{}
	}
	if s := g.shadow[id]; s != nil {
		s.job = job
	}
	return facts.PutJob{Job: job}
}

// changeMarks takes some marks away and adds others where none begins.
func (g *generator) changeMarks(id facts.JobID) facts.Write {
	w := facts.ChangeMarks{Job: id}
	var has map[facts.ItemNo]facts.Mark
	if s := g.shadow[id]; s != nil {
		has = s.marks
	}
	for item := facts.ItemNo(0); item < someItems; item++ {
		kind := rapid.SampledFrom([]facts.MarkKind{"", facts.MarkKilled, facts.MarkBlocked, facts.MarkComplete}).Draw(g.r,
			"mark")
		m := facts.Mark{First: item, Last: item, Step: 1, Kind: kind, By: "ann", At: at(1)}
		old, there := has[item]
		switch {
		case there && kind == "":
			w.Remove = append(w.Remove, old)
			delete(has, item)
		case there && kind != old.Kind:
			w.Remove, w.Add = append(w.Remove, old), append(w.Add, m)
			has[item] = m
		case !there && kind != "" && g.odd():
			w.Remove = append(w.Remove, m)
		case !there && kind != "":
			w.Add = append(w.Add, m)
			if has != nil {
				has[item] = m
			}
		}
	}
	return w
}

// attempt returns a write that fits the item's latest attempt, or an odd one for another attempt.
func (g *generator) attempt(id facts.JobID) facts.Write {
	item := facts.ItemNo(rapid.IntRange(0, someItems-1).Draw(g.r, "item"))
	var last facts.AttemptFacts
	s := g.shadow[id]
	if s != nil {
		last = s.attempts[item]
	}
	if g.odd() {
		last.State = rapid.SampledFrom([]facts.AttemptState{facts.Running, facts.Stopping, facts.Done,
			facts.Failed}).Draw(g.r, "believed")
	}
	if last.Number == 0 || last.State != "" && !last.State.Live() && last.Again > 0 {
		last.State = ""
	}
	if last.State == "" && s != nil && s.job.State.Final() {
		return g.shares()
	}
	last.AttemptID = attemptID(id, item, last.Number)
	w, last := g.next(last)
	if s != nil {
		s.attempts[item] = last
	}
	return w
}

func (g *generator) next(a facts.AttemptFacts) (facts.Write, facts.AttemptFacts) {
	choice := rapid.IntRange(0, 5).Draw(g.r, "choice")
	switch {
	case a.State == "" && (a.Number == 0 || choice > 0):
		next := started(attemptID(a.Job, a.Item, a.Number+1), at(g.when()))
		if rapid.Bool().Draw(g.r, "ahead") {
			next.BehindItem, next.BehindNumber = facts.ItemNo(rapid.IntRange(0, 2).Draw(g.r, "behind")), 1
		}
		return facts.StartAttempt{Attempt: next}, next
	case a.State.Live() && choice == 0:
		a.Kind = facts.Primary
		return facts.RelabelAttempt{ID: a.AttemptID, Kind: a.Kind}, a
	case a.State.Live() && choice == 2:
		return facts.SendAwayAttempt{ID: a.AttemptID, Why: facts.Why{Reason: facts.ReasonSentAway, Cause: "leave"}}, a
	case a.State == facts.Running && choice == 3:
		w := facts.SuspendAttempt{ID: a.AttemptID}
		if a.SuspendedAt.IsZero() {
			w.At = at(g.when())
		} else {
			w.Seconds, w.Released = a.Suspended+1.5, a.Released+0.5
		}
		a.SuspendedAt, a.Suspended, a.Released = w.At, w.Seconds, w.Released
		a.ReleasedAt, a.ResumingAt = time.Time{}, time.Time{}
		return w, a
	case a.State == facts.Running && choice == 4 && (a.SuspensionState() != facts.NotSuspended || g.odd()):
		w := facts.ReleaseAttempt{ID: a.AttemptID, From: a.SuspensionState(), At: at(g.when())}
		if w.From == facts.SuspendedReleased {
			w.Resuming = w.At
		}
		if g.odd() {
			w.From = rapid.SampledFrom([]facts.Suspension{facts.NotSuspended, facts.SuspendedHolding, facts.SuspendedReleased,
				facts.Resuming}).Draw(g.r, "from")
		}
		a.ReleasedAt, a.ResumingAt = w.At, w.Resuming
		return w, a
	case a.State.Live() && choice == 1:
		a.State = facts.Stopping
		return facts.StopAttempt{ID: a.AttemptID,
			Why: facts.Why{Reason: facts.ReasonPrimaryWaits, Params: facts.Params{Job: 3}, Cause: "stop"}}, a
	case a.State.Live():
		w := facts.EndAttempt{ID: a.AttemptID, From: a.State, Wall: float64(rapid.IntRange(0, 9).Draw(g.r, "wall")),
			EndedAt: at(g.when())}
		w.StartedAt = rapid.SampledFrom([]time.Time{{}, at(g.when())}).Draw(g.r, "began")
		w.Suspended = float64(rapid.IntRange(0, 2).Draw(g.r, "suspended"))
		w.Released = w.Suspended / 2
		w.Peak = int64(rapid.IntRange(0, 3).Draw(g.r, "peak")) << 20
		w.State = rapid.SampledFrom([]facts.AttemptState{facts.Done, facts.Failed, facts.Killed,
			facts.Preempted, facts.Lost}).Draw(g.r, "end")
		if w.State != facts.Done {
			w.Again = facts.RunsAgain(rapid.IntRange(0, 1).Draw(g.r, "again"))
		}
		// Without a reason an end that is done is loaded in short, and any other is refused.
		w.Reason = rapid.SampledFrom([]facts.Reason{"", facts.ReasonExit, facts.ReasonMemoryLimit, facts.ReasonOutOfMemory,
			facts.ReasonMemoryUnavailable}).Draw(g.r, "reason")
		if w.Reason == "" && w.State != facts.Done && !g.odd() {
			w.Reason = facts.ReasonExit
		}
		if w.Reason != "" {
			w.Params.Limit, w.Cause = int64(rapid.IntRange(0, 1).Draw(g.r, "limit")),
				rapid.SampledFrom([]string{"", "end"}).Draw(g.r, "cause")
		}
		w.Charge, w.Charged = facts.Charge{CPU: float64(rapid.IntRange(0, 3).Draw(g.r, "cpu")), GPU: 0.5},
			rapid.Bool().Draw(g.r, "charged")
		a.State, a.Again = w.State, w.Again
		return w, a
	}
	a.Again = facts.ByOrder
	return facts.ReopenAttempts{Job: a.Job, Attempts: []facts.AttemptID{a.AttemptID}}, a
}
