package term

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// Whatever reports of whatever agents come in while none is read: each agent has one left to read, besides
// registrations, its newest; every end is read once or more, and never before one of an earlier report of that agent;
// and no agent's reports are merged with those of another incarnation, boot or folder.
func TestInboxOfSyncs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, now := NewSyncInbox(), time.Unix(1000, 0)
		newest, ends, gone := map[string]uint64{}, map[string]map[facts.ItemNo]bool{}, map[outbox.Ticket]bool{}
		sent := rapid.IntRange(1, 60).Draw(t, "reports")
		registrations := 0
		for n := range sent {
			host, boot := fmt.Sprint("h", rapid.IntRange(0, 2).Draw(t, "host")), fmt.Sprint(rapid.IntRange(0, 1).Draw(t, "boot"))
			agent := host + " " + boot
			e := message.WorkerSynced{Ticket: outbox.Ticket(n + 1), Incarnation: "i" + boot, Sequence: uint64(rapid.IntRange(1, 1000).Draw(t, "sequence")*100 + n),
				Registers: rapid.IntRange(0, 9).Draw(t, "registers") == 0, Host: facts.HostFacts{ID: facts.HostID(host), Boot: boot, StateID: "s"}}
			item := facts.ItemNo(n)
			e.Finished = []message.ReportedEnd{{Attempt: facts.AttemptID{Job: 1, Item: item, Number: 1}}}
			if ends[agent] == nil {
				ends[agent] = map[facts.ItemNo]bool{}
			}
			ends[agent][item] = true
			older, ok := q.Put(now.Add(time.Duration(n)*time.Second), e)
			if !ok {
				t.Fatal("no room")
			}
			if older != 0 {
				if gone[older] {
					t.Fatalf("ticket %d is superseded twice", older)
				}
				gone[older] = true
			}
			if e.Registers {
				registrations++
			}
			newest[agent] = max(newest[agent], e.Sequence)
		}
		if got := q.Waited(now.Add(time.Hour)); got != time.Hour {
			t.Fatalf("the oldest has waited for %v", got)
		}
		read := 0
		for {
			next, ok := q.Next()
			if !ok {
				break
			}
			read++
			e := next.(message.WorkerSynced)
			agent := string(e.Host.ID) + " " + e.Host.Boot
			if gone[e.Ticket] || e.Incarnation != "i"+e.Host.Boot {
				t.Fatalf("%+v is read", e)
			}
			for _, end := range e.Finished {
				if !ends[agent][end.Attempt.Item] {
					t.Fatalf("item %d is read twice, or of another agent", end.Attempt.Item)
				}
				delete(ends[agent], end.Attempt.Item)
			}
			if e.Sequence == newest[agent] {
				delete(newest, agent)
			}
		}
		if read+len(gone) != sent || len(newest) > 0 || len(q.asked) > 0 || len(q.last) > 0 {
			t.Fatalf("%d of %d read, %d superseded; not read: %v", read, sent, len(gone), newest)
		}
		for agent, left := range ends {
			if len(left) > 0 {
				t.Fatalf("ends of %s are lost: %v", agent, left)
			}
		}
		if most := registrations + 6 + registrations; read > most {
			t.Fatalf("%d are read, at most %d are right", read, most)
		}
	})
}

// TestLeftSyncStaysAReport: a report whose sender has left is still processed. If it was read already, the farm is
// notified that its sender no longer waits.
func TestLeftSyncStaysAReport(t *testing.T) {
	q, now := NewSyncInbox(), time.Unix(1000, 0)
	e := message.WorkerSynced{Ticket: 1, Incarnation: "i", Sequence: 1, Host: facts.HostFacts{ID: "h"}}
	q.Put(now, e)
	q.Leave(now, e)
	if got, _ := q.Next(); !got.(message.WorkerSynced).Left {
		t.Errorf("read as %+v", got)
	}
	q.Leave(now, e)
	if got, _ := q.Next(); got.(message.SyncLeft).Ticket != 1 {
		t.Errorf("read as %+v", got)
	}
}
