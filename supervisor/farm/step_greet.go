package farm

import (
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/outbox"
)

// greeting is the sync of a worker that has heard no answer of this term; it is answered at the next Take.
type greeting struct {
	ticket      outbox.Ticket
	incarnation string
	sequence    uint64
	host        facts.HostFacts
	holds       map[facts.JobID]int64
}

// onGreeting takes in the word of an agent that has heard nothing of this term. It may be as old as a message
// can be: read late from a socket, or written by an agent, on a boot, that another has followed. So nothing
// is concluded from what it does not list, nor from who it says it is. The answer carries the term; an agent
// that has heard it obeys no former term any more, and follows all agents that greeted before it.
//
// Ends are true whenever they are told. Those of attempts that the answer will not list are taken in now,
// for the worker forgets what no answer lists; of the others it speaks again.
func (f *Farm) onGreeting(now time.Time, e WorkerSynced) {
	h := f.hostOf(e.Host)
	if h != nil {
		if f.turnsAway(now, h, e) {
			return
		}
		if e.Standing {
			h.Heard, h.LastSync = true, now
		}
		f.takeEnds(now, h, e.Finished, func(i *instance) bool { return i.stopping() && i.givenUnder(e.Host) })
	}
	id := e.Host.ID // of one that is not known yet
	if h != nil {
		id = h.ID
	}
	f.registry.Note(id, e.Incarnation)
	f.greetings = append(f.greetings, greeting{e.Ticket, e.Incarnation, e.Sequence, e.Host, e.Jobs})
}

func (f *Farm) answerGreetings(now time.Time) {
	for _, g := range f.greetings {
		reply := f.newReply(g.host.ID, g.sequence)
		if h := f.hostOf(g.host); h != nil {
			f.fillReply(now, h, g.host, g.holds, &reply)
			h.Expect(now, g.incarnation, g.sequence)
		}
		f.out.Answer(g.ticket, reply)
	}
	f.greetings = f.greetings[:0]
}
