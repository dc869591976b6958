package sim

import (
	"context"
	"errors"
	"time"

	"qb/api"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/translate"
)

// What a request hears when no word on it will come.
var (
	errSimNoTerm = api.Errorf(api.KindUnavailable, "this supervisor does not lead now")
	errSimBroken = api.Errorf(api.KindInternal, "the step broke")
	errSimNoWord = api.Errorf(api.KindUnavailable, "no answer in time")
	errSimClosed = api.Errorf(api.KindUnavailable, "the connection was refused")
)

const (
	simSyncSlack = 10 * time.Second
	simAskFor    = 30 * time.Second
)

// serve has a request handled, if anybody is there. A stopped process' socket still takes it in.
func (s *simSupervisor) serve(handle func(), refused func()) {
	if !s.alive {
		refused()
		return
	}
	s.do(s.world.between(0, time.Millisecond), handle)
}

// sync is the endpoint of the workers.
func (s *simSupervisor) sync(in api.Sync, answer func(*api.SyncReply, error)) {
	t := s.term
	if t == nil || t.farm == nil {
		answer(nil, errSimNoTerm)
		return
	}
	s.world.detail("%s reads sync %d of %s", s.name, in.Sequence, in.Incarnation)
	e, err := translate.ReadSync(&in, t.epoch, t.now())
	switch {
	case err != nil && in.Since == 0:
		s.world.fail("%s does not take a sync: %v", s.name, err)
		return
	case err != nil:
		s.world.some("differences from a list of another term")
		answer(nil, err)
		return
	case in.Since != 0:
		s.world.some("a sync with differences")
		if in.Since+1 < in.Sequence {
			s.world.some("differences after a sync that had no answer yet")
		}
	}
	err = t.watch.Hear(s.world.now, &in)
	if t.watch.End() != nil {
		t.yield()
	}
	if err != nil {
		answer(nil, err)
		return
	}
	s.world.clients.verbs.hear(facts.HostID(in.Host), t.epoch, s.world.now)
	if s.world.enrolled() {
		e.Host.Key = "key of " + in.StateID
	}
	if t.readOnly {
		e = translate.ReadOnlySync(e)
	}
	event := func(ticket outbox.Ticket) message.Event { e.Ticket, t.syncs[ticket] = ticket, true; return e }
	t.ask(e.Hold+simSyncSlack, event, func(r outbox.Reply, err error) {
		if err == nil && r.Err != nil {
			s.world.refused(in, r.Err.Code)
			err = &api.Error{Kind: api.Kind(r.Err.Kind), Text: r.Err.Text, Code: r.Err.Code}
		}
		if err != nil {
			answer(nil, err)
			return
		}
		// The handler is a goroutine of its own: its process may be stopped before it says the word.
		s.do(0, func() {
			reply, err := translate.AnswerSync(r.Body.(message.SyncReply), t.watch.Term(), s.world.now-t.proof)
			if err != nil {
				s.world.some("a leader without a young proof kept silent")
			} else {
				if t.readOnly {
					s.world.keepRecords(reply, in.Finished)
					t.watch.Trim(reply, &in)
				}
				s.world.rows.said(reply)
				if reply.Since != 0 {
					s.world.some("an answer with differences")
				}
				t.answered(in.Host, in.Incarnation, in.Sequence)
			}
			answer(reply, err)
		})
	})
}

// simMemo is the remembered answer to a change by its key.
type simMemo struct {
	done    bool
	reply   outbox.Reply
	waiting []func(outbox.Reply, error)
}

// once runs a change unless the same call has run or runs now in this life of the process.
func (s *simSupervisor) once(key string, change func(func(outbox.Reply, error)), answer func(outbox.Reply, error)) {
	if s.world.keys.on {
		s.onceKeyed(key, change, answer)
		return
	}
	m := s.memo[key]
	switch {
	case m == nil:
		m = &simMemo{}
		s.memo[key] = m
	case m.done:
		s.world.some("a repeated change answered from memory")
		answer(m.reply, nil)
		return
	default:
		m.waiting = append(m.waiting, answer)
		return
	}
	change(func(r outbox.Reply, err error) {
		if err == nil && r.Err == nil {
			m.done, m.reply = true, r
		} else {
			delete(s.memo, key)
		}
		for _, answer := range append(m.waiting, answer) {
			answer(r, err)
		}
	})
}

// submit is the endpoint of submissions: it looks for an earlier one in the rows, then asks the farm.
func (s *simSupervisor) submit(given facts.JobFacts, blocked bool, answer func(outbox.Reply, error)) {
	s.once(given.Submission, func(answer func(outbox.Reply, error)) {
		t := s.term
		if t == nil {
			answer(outbox.Reply{}, errSimNoTerm)
			return
		}
		s.read(answer, func() {
			e := message.JobSubmitted{Facts: given, Blocked: blocked, By: given.User}
			memory := s.world.database.memory
			e.Known, _ = memory.Submission(context.Background(), given.Submission)
			l := s.linked(given.Dependency, given.PGrp, given.Label)
			e.Links, e.Labels, e.LabelHas, e.Before, e.Parents = l.states, l.labels, l.labels[given.Label], l.before, l.parents
			s.do(s.world.between(0, 5*time.Millisecond), func() {
				t.ask(simAskFor, func(ticket outbox.Ticket) message.Event {
					t.keyed(ticket, given.Submission)
					e.Ticket = ticket
					return e
				}, answer)
			})
		})
	}, answer)
}

// read is a look into the rows, which takes time and fails while the database is down.
func (s *simSupervisor) read(answer func(outbox.Reply, error), then func()) {
	s.do(s.world.mostly(2*time.Millisecond, 2*time.Second, 10), func() {
		if s.world.database.down {
			answer(outbox.Reply{}, errSimNoWord)
			return
		}
		then()
	})
}

func (s *simSupervisor) modify(key string, e message.JobModified, answer func(outbox.Reply, error)) {
	s.once(key, func(answer func(outbox.Reply, error)) {
		t := s.term
		if t == nil {
			answer(outbox.Reply{}, errSimNoTerm)
			return
		}
		t.ask(simAskFor, func(ticket outbox.Ticket) message.Event { t.keyed(ticket, key); e.Ticket = ticket; return e }, answer)
	}, answer)
}

// order gives an order on a job. A farm that holds it no more is given its record.
func (s *simSupervisor) order(key string, e message.JobAction, answer func(outbox.Reply, error)) {
	s.once(key, func(answer func(outbox.Reply, error)) {
		t := s.term
		if t == nil {
			answer(outbox.Reply{}, errSimNoTerm)
			return
		}
		s.again(&e)
		event := func(ticket outbox.Ticket) message.Event { t.keyed(ticket, key); e.Ticket = ticket; return e }
		t.ask(simAskFor, event, func(r outbox.Reply, err error) {
			var refused *outbox.Refusal
			if err != nil || r.Err == nil || !errors.As(r.Err, &refused) || refused.Kind != "not-found" {
				answer(r, err)
				return
			}
			s.read(answer, func() {
				record := new(items.Prepared)
				if known, _ := s.world.database.memory.Record(context.Background(), e.Job, record); known {
					e.Record = record
					s.world.some("an ended job taken up again by its record")
				}
				t.ask(simAskFor, event, answer)
			})
		})
	}, answer)
}

// host gives an administrator's order on a host.
func (s *simSupervisor) host(event func(outbox.Ticket) message.Event, answer func(outbox.Reply, error)) {
	if s.term == nil {
		answer(outbox.Reply{}, errSimNoTerm)
		return
	}
	s.term.ask(simAskFor, event, answer)
}
