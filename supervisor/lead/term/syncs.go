package term

import (
	"slices"
	"sync"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// SyncInbox holds the reports of workers that the loop has not read: of each agent the newest one, with the ends of
// those before it. So a slow loop has no more to read than there are agents, and what it reads is never older than what
// it has. An entry stays at the place of its first report.
type SyncInbox struct {
	ready chan struct{} // has one while there is something to read
	mu    sync.Mutex
	queue []*unread
	last  map[agentOf]*unread
	asked map[outbox.Ticket]*unread // all of queue that somebody may wait for
}

// unread is a report or, if sync is nil, a notice that the sender of a report no longer waits for its answer.
type unread struct {
	since time.Time
	agent agentOf
	sync  *message.WorkerSynced
	left  message.SyncLeft
}

// agentOf is one start of an agent on one boot with one state folder, as it announces itself. Reports of two are never
// merged: the farm decides which of them is the host now.
type agentOf struct {
	host                                 facts.HostID
	key, machine, boot, state, incarnate string
}

// NewSyncInbox is an inbox that holds nothing.
func NewSyncInbox() *SyncInbox {
	return &SyncInbox{ready: make(chan struct{}, 1), last: map[agentOf]*unread{}, asked: map[outbox.Ticket]*unread{}}
}

func agentFrom(h facts.HostFacts, incarnation string) agentOf {
	return agentOf{h.ID, h.Key, h.MachineID, h.Boot, h.StateID, incarnation}
}

// Put adds a report, or merges it with the waiting report of the same agent. After a merge the loop answers only the
// report with the higher sequence, and Put returns the ticket of the other. Reports can arrive out of order, so that
// ticket may be the one of the report that was just added. Put returns false if too many reports wait.
func (q *SyncInbox) Put(now time.Time, e message.WorkerSynced) (superseded outbox.Ticket, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	agent := agentFrom(e.Host, e.Incarnation)
	// A registration is read by itself and in its turn, for it is answered otherwise.
	if u := q.last[agent]; u != nil && !e.Registers && e.Sequence != u.sync.Sequence {
		delete(q.asked, u.sync.Ticket)
		merged, older := mergeSyncs(*u.sync, e)
		u.sync, q.asked[merged.Ticket] = &merged, u
		return older, true
	}
	if len(q.queue) >= maxWaiting {
		return 0, false
	}
	u := &unread{since: now, agent: agent, sync: &e}
	q.add(u)
	delete(q.last, agent)
	if !e.Registers {
		q.last[agent] = u
	}
	return 0, true
}

func (q *SyncInbox) add(u *unread) {
	q.queue = append(q.queue, u)
	if u.sync != nil {
		q.asked[u.sync.Ticket] = u
	}
	q.signal()
}

func (q *SyncInbox) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// again signals once more if something was left unread.
func (q *SyncInbox) again() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) > 0 {
		q.signal()
	}
}

// mergeSyncs is the newer of two reports of one agent with the ends that only the older one brings, and the ticket of
// the older. All else that a report says is of the moment when it was made.
func mergeSyncs(a, b message.WorkerSynced) (merged message.WorkerSynced, older outbox.Ticket) {
	if a.Sequence > b.Sequence {
		a, b = b, a
	}
	reported := make(map[facts.AttemptID]bool, len(b.Finished))
	for _, end := range b.Finished {
		reported[end.Attempt] = true
	}
	ends := slices.Clone(b.Finished)
	for _, end := range a.Finished {
		if !reported[end.Attempt] {
			ends = append(ends, end)
		}
	}
	b.Finished = ends
	return b, a.Ticket
}

// Leave records that the sender of a report no longer waits for its answer. The report itself is still processed.
func (q *SyncInbox) Leave(now time.Time, e message.WorkerSynced) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if u := q.asked[e.Ticket]; u != nil {
		u.sync.Left = true
		return
	}
	if len(q.queue) < maxWaiting {
		q.add(&unread{since: now, left: message.SyncLeft{Ticket: e.Ticket, Host: e.Host}})
	}
}

// Next takes what is to be read next.
func (q *SyncInbox) Next() (message.Event, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 {
		return nil, false
	}
	u := q.queue[0]
	q.queue[0] = nil
	q.queue = q.queue[1:]
	if u.sync == nil {
		return u.left, true
	}
	delete(q.asked, u.sync.Ticket)
	if q.last[u.agent] == u {
		delete(q.last, u.agent)
	}
	return *u.sync, true
}

// Waited is for how long the oldest entry has been unread.
func (q *SyncInbox) Waited(now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 {
		return 0
	}
	return max(0, now.Sub(q.queue[0].since))
}

func (q *SyncInbox) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue)
}

// Lag is for how long the oldest report of a worker has waited to be read.
func (l *Loop) Lag() time.Duration { return l.syncs.Waited(l.clock.Now()) }

// Patience is for how long workers are asked to wait for an answer before they send another sync, at such a lag: 0
// while syncs are read at once.
func Patience(lag time.Duration) time.Duration {
	if lag > patientFrom {
		return min(2*lag, patientFor)
	}
	return 0
}
