package sim

import (
	"fmt"
	"reflect"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// simWords is what a term has heard from workers, and which of its answers they took, in truth.
type simWords struct {
	read   map[simWord]bool
	last   map[string]uint64 // highest sequence of each incarnation, registrations aside
	latest map[string]string // incarnation that last spoke in this term, registrations aside
	// the first answer to a host since the host last took one, by the time for which the loop was not busy
	unsaid map[string]time.Duration
	took   time.Duration // when decisions were last taken from the farm
}

type simWord struct {
	incarnation string
	sequence    uint64
}

func newSimWords() *simWords {
	return &simWords{read: map[simWord]bool{}, last: map[string]uint64{}, latest: map[string]string{}, unsaid: map[string]time.Duration{}}
}

// stale says that a word is a word that the term has read already, or older than such a word, or
// comes from an agent that is dead and whose follower has spoken.
func (s *simWords) stale(w *simWorld, e message.WorkerSynced) bool {
	word := simWord{e.Incarnation, e.Sequence}
	again := s.read[word] || s.last[e.Incarnation] >= e.Sequence
	s.read[word] = true
	if again || e.Registers {
		return again && !(e.Registers && len(e.Finished) > 0) // an end that a registration tells is true whenever it is read
	}
	s.last[e.Incarnation] = e.Sequence
	host := fmt.Sprintf("%s under boot %s with folder %s", e.Host.ID, e.Host.Boot, e.Host.StateID)
	if latest := s.latest[host]; latest != "" && latest != e.Incarnation && w.buried[e.Incarnation] && !w.buried[latest] {
		return true
	}
	s.latest[host] = e.Incarnation
	return false
}

// step gives the farm an event. Stale news changes nothing that anybody can see, and writes nothing (S3). A read-only
// term, which takes every word for a registration, shows such a host as heard; it concludes nothing from that.
func (t *simTerm) step(e message.Event) {
	now, w := t.now(), t.supervisor.world
	sync, isSync := e.(message.WorkerSynced)
	if !isSync || t.readOnly || !t.words.stale(w, sync) || t.farm.Pending() || t.inFlight {
		t.farm.Step(now, e)
		return
	}
	w.some("stale word changed nothing")
	before := t.farm.View(now)
	t.farm.Step(now, e)
	after := t.farm.View(now)
	for n := range before.Hosts { // an old word may list its sender as one who claims the name
		before.Hosts[n].Claims = nil
	}
	for n := range after.Hosts {
		after.Hosts[n].Claims = nil
	}
	if !reflect.DeepEqual(before, after) {
		w.fail("S3: sync %d of %s, which is stale, changes what the farm shows: %s", sync.Sequence, sync.Incarnation, differs(before, after))
	}
	batch := t.farm.Take(now)
	if len(batch.Writes) > 0 {
		w.fail("S3: sync %d of %s, which is stale, writes %T", sync.Sequence, sync.Incarnation, batch.Writes[0])
	}
	t.say(batch)
}

// differs names the first of what two views show differently.
func differs(a, b *message.View) string {
	for n := range a.Jobs {
		if n < len(b.Jobs) && !reflect.DeepEqual(a.Jobs[n], b.Jobs[n]) {
			return fmt.Sprintf("job %+v, then %+v", a.Jobs[n], b.Jobs[n])
		}
	}
	for n := range a.Hosts {
		if n < len(b.Hosts) && !reflect.DeepEqual(a.Hosts[n], b.Hosts[n]) {
			return fmt.Sprintf("host %+v, then %+v", a.Hosts[n], b.Hosts[n])
		}
	}
	return fmt.Sprintf("%d jobs and %d hosts, then %d and %d, or their sums", len(a.Jobs), len(a.Hosts), len(b.Jobs), len(b.Hosts))
}

// answered notes an answer that goes out to a host which waits for it, and heard that a host took one, whichever term
// gave it. What a late copy of an old sync is answered, no one waits for.
func (t *simTerm) answered(host, incarnation string, sequence uint64) {
	w := t.supervisor.world
	if a := w.host(host).agent; a == nil || !a.waits() || a.asked != sequence || a.identity.Incarnation != incarnation {
		return
	}
	since, there := t.words.unsaid[host]
	if !there {
		t.words.unsaid[host] = w.now - t.busyFor
	} else if w.now-t.busyFor-since > w.policy.Liveness {
		w.some("a host that hears nothing was answered in vain")
	}
}

func (w *simWorld) heard(host string) {
	for _, s := range w.supervisors {
		if s.term != nil {
			delete(s.term.words.unsaid, host)
		}
	}
}

// checkDeaf: nothing new is given to a host that has taken no answer for longer than the liveness, whatever
// it says meanwhile. What a batch holds was decided after the last one was taken; while the loop was busy or stopped no
// host was silent.
func (t *simTerm) checkDeaf(batch outbox.Batch) {
	w := t.supervisor.world
	for _, write := range batch.Writes {
		start, ok := write.(facts.StartAttempt)
		if !ok {
			continue
		}
		if since, there := t.words.unsaid[string(start.Attempt.Host)]; there && !w.holder(&start.Attempt).isTwin() && t.words.took-since > w.policy.Liveness {
			w.fail("F31: %v is given to %s, which has taken no answer since %s", start.Attempt.AttemptID, start.Attempt.Host, since)
		}
	}
	t.words.took = w.now - t.busyFor
}
