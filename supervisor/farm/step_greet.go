package farm

import "time"

// greeting is the sync of a worker that has heard no answer of this term; it is answered at the next Take.
type greeting struct {
	ticket   Ticket
	sequence uint64
	host     HostFacts
	holds    map[JobID]int64
}

// onGreeting takes in the first word of a worker in this term. It may be as old as a message can be: read
// late from a socket, or written by an agent, on a boot, that another has followed. So nothing is concluded
// from what it does not list, nor from who it says it is. The answer carries the term; once the worker has
// heard it, it obeys no former term any more, and what it says then is as true as it can be.
//
// Ends are true whenever they are told. Those of attempts that the answer will not list are taken in now,
// for the worker forgets what no answer lists; of the others it speaks again.
func (f *Farm) onGreeting(now time.Time, e WorkerSynced) {
	if h := f.hosts[e.Host.ID]; h != nil {
		if text := h.stale(e); text != "" {
			f.refuse(e.Ticket, "conflict", "%s", text)
			return
		}
		for _, end := range e.Finished {
			if i := h.find(end.Attempt); i != nil && i.stopping() && i.givenUnder(e.Host) {
				f.finish(now, i, end)
			}
		}
	}
	f.greetings = append(f.greetings, greeting{e.Ticket, e.Sequence, e.Host, e.Jobs})
}

func (f *Farm) answerGreetings(now time.Time) {
	for _, g := range f.greetings {
		reply := f.newReply(g.host.ID, g.sequence)
		if h := f.hosts[g.host.ID]; h != nil {
			f.fillReply(now, h, g.host, g.holds, &reply)
		}
		f.say(g.ticket, reply)
	}
	f.greetings = f.greetings[:0]
}
