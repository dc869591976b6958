package sim

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// Keyed changes: in some worlds each change has its answer as a row of the same commit, as supervisor/lead/term/once.go
// has it, and changes of jobs name the version that they are meant for.

// simKeys is what such a world knows of its calls.
type simKeys struct {
	on                    bool
	said                  map[string]outbox.Reply // the last that a leader wanted to answer, by key
	kept                  map[string]bool         // keys whose answers are rows
	repeated, stale, just int                     // calls answered from a row, refused as stale, and made at their version
}

// simKeyed is a call that a term works on; the same call, repeated meanwhile, waits for its word.
type simKeyed struct {
	waiting []func(outbox.Reply, error)
	events  int  // that the farm has not replied to
	left    bool // the endpoint hands over no other
}

// onceKeyed runs a change unless its answer is a row, or this term works on it.
func (s *simSupervisor) onceKeyed(key string, change func(func(outbox.Reply, error)), answer func(outbox.Reply, error)) {
	t := s.term
	if t == nil {
		answer(outbox.Reply{}, errSimNoTerm)
		return
	}
	if e := t.keys[key]; e != nil {
		e.waiting = append(e.waiting, answer)
		return
	}
	e := &simKeyed{waiting: []func(outbox.Reply, error){answer}}
	t.keys[key] = e
	left := func(r outbox.Reply, err error) {
		e.left = true
		t.answerKeyed(key, r, err)
	}
	s.read(left, func() {
		_, known, _ := s.world.database.memory.Answer(context.Background(), "op", key)
		switch {
		case t.over:
			left(outbox.Reply{}, errSimNoTerm)
		case known:
			s.world.keys.repeated++
			left(s.world.keys.said[key], nil)
		default:
			change(left)
		}
	})
}

// answerKeyed tells all who wait, and forgets the call as soon as no word on it can come any more.
func (t *simTerm) answerKeyed(key string, r outbox.Reply, err error) {
	e := t.keys[key]
	if e == nil {
		return
	}
	if e.left && e.events == 0 {
		delete(t.keys, key)
	}
	waiting := e.waiting
	e.waiting = nil
	for _, answer := range waiting {
		answer(r, err)
	}
}

// keyed notes that the farm is given an event of a call.
func (t *simTerm) keyed(ticket outbox.Ticket, key string) {
	if e := t.keys[key]; e != nil {
		e.events++
		t.keyOf[ticket] = key
	}
}

// resolveKeyed passes on the farm's replies to events with a key, which are durable now.
func (t *simTerm) resolveKeyed(replies []outbox.Reply) {
	for _, r := range replies {
		key := t.keyOf[r.Ticket]
		delete(t.keyOf, r.Ticket)
		if e := t.keys[key]; e != nil {
			if e.events--; e.left {
				t.answerKeyed(key, r, nil)
			}
		}
	}
}

// answers are the rows that go with the replies to changes under a key.
func (t *simTerm) answers(replies []outbox.Reply) (writes []facts.Write) {
	for _, r := range replies {
		key := t.keyOf[r.Ticket]
		if reply, isJob := r.Body.(message.JobReply); key == "" || r.Err != nil || isJob && reply.Job.Version == 0 {
			continue
		}
		t.supervisor.world.keys.said[key] = r
		writes = append(writes, facts.PutAnswer{Answer: facts.AnswerFacts{User: "op", Key: key, Hash: bytes.Repeat([]byte{1}, 32), Body: key, At: t.now()}})
	}
	return writes
}

// keep: a change under a key is made once, whichever supervisor leads and however often it is asked for (S7).
func (k *simKeys) keep(w *simWorld, key string) {
	if k.kept[key] {
		w.fail("S7: the change under %s is made a second time", key)
	}
	k.kept[key] = true
}

// version is what a change of a job names: that of the row, or one before.
func (k *simKeys) version(w *simWorld, id facts.JobID) int64 {
	if !k.on || w.chance(300) {
		return 0
	}
	return max(1, w.rows.jobs[id].facts.Version-int64(w.random.IntN(2)))
}

// checkVersion: a change that names a version is made to that one alone, and is refused when there is another (F86).
func (k *simKeys) checkVersion(w *simWorld, asked int64, id facts.JobID, r outbox.Reply) {
	var refused *outbox.Refusal
	switch {
	case asked == 0:
	case r.Err == nil:
		k.just++
		if made := r.Body.(message.JobReply).Job.Version; made != asked+1 {
			w.fail("F86: a change of version %d of job %d made version %d", asked, id, made)
		}
	case errors.As(r.Err, &refused) && refused.Kind == "stale":
		k.stale++
		if now := w.rows.jobs[id].facts.Version; now <= asked {
			w.fail("F86: a change of version %d of job %d is refused as stale, and it is at %d", asked, id, now)
		}
	}
}

// simKeyWorlds are enough for each of the counts below to be reached some ten times.
const simKeyWorlds = 16

// TestSimKeys (S7, F86): worlds whose supervisors and database fail, with keyed changes that name versions. The
// database's clock stays as it is, for an answer is kept for a day by it.
func TestSimKeys(t *testing.T) {
	var sum simKeys
	for seed := uint64(1); seed <= simKeyWorlds; seed++ {
		w := newWorldOf(seed)
		if w.faults.putBack != "" { // a world of its own, with its own faults
			continue
		}
		w.keys = simKeys{on: true, said: map[string]outbox.Reply{}, kept: map[string]bool{}}
		w.faults.lasts, w.faults.onlySupervisors = max(w.faults.lasts, time.Minute), false // networks fail here, too
		w.faults.kinds = slices.DeleteFunc(slices.Clone(simFaultKinds), func(f simFault) bool { return f.outer && f.name != "network bad" || f.name == "clock set" })
		if w.live(); w.failure != "" {
			t.Fatalf("%s\nseed %d: %s", w.story(), seed, w.failure)
		}
		sum.repeated, sum.stale, sum.just = sum.repeated+w.keys.repeated, sum.stale+w.keys.stale, sum.just+w.keys.just
	}
	t.Logf("%d calls answered from a row, %d refused as stale, %d made at their version", sum.repeated, sum.stale, sum.just)
	if sum.repeated == 0 || sum.stale == 0 || sum.just == 0 {
		t.Error("the worlds did not meet what they are for")
	}
}
