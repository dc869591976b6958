package postgres

import (
	"testing"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/storetest"
)

// A standby reads under which address the leader of which term is to be found, and how fresh that is.
func TestLeader(t *testing.T) {
	url := emptied(t)
	leader, standby := openPostgres(t, url), openPostgres(t, url)
	leader.Advertise("http://127.0.0.1:1")
	term := lead(t, leader)
	seen := must(standby.Leader(ctx))(t)
	if seen.Name != "http://127.0.0.1:1" || seen.Epoch != term.Epoch() || seen.Silent < 0 || seen.Silent > store.TrustFor {
		t.Errorf("the standby sees %+v, the epoch is %d", seen, term.Epoch())
	}
	exec(t, standby, `UPDATE supervisor SET checked_at = clock_timestamp() - interval '1 minute'`)
	if seen = must(standby.Leader(ctx))(t); seen.Silent < store.TrustFor {
		t.Errorf("a leader that is silent for a minute counts as fresh: %+v", seen)
	}
}

// What answers may have promised is in the row of terms: each later term and each standby reads it, to the microsecond
// and never shorter.
func TestPromiseIsInTheRow(t *testing.T) {
	for _, s := range []store.Store{storetest.NewMemory(), openPostgres(t, newDatabase(t))} {
		term := lead(t, s)
		if p := load(t, term).Promise; p != (facts.PromiseFacts{}) {
			t.Errorf("before the first answer %+v was promised", p)
		}
		long := facts.PromiseFacts{Lease: time.Minute + 1, Grace: 9 * time.Second, Margin: 5 * time.Second, Until: at(75)}
		commit(t, term, facts.PutPromise{Promise: facts.PromiseFacts{Lease: 1}}, facts.PutPromise{Promise: long})
		long.Lease = time.Minute + time.Microsecond
		term.Close(ctx)
		term = lead(t, s)
		if p := load(t, term).Promise; !p.Same(long) || !p.Until.Equal(long.Until) {
			t.Errorf("the next term reads %+v, written was %+v", p, long)
		}
		short := facts.PromiseFacts{Lease: 6 * time.Second}
		commit(t, term, facts.PutPromise{Promise: short})
		if p := load(t, term).Promise; p != short {
			t.Errorf("the row has %+v, written was %+v", p, short)
		}
		if p, ok := s.(*Store); ok {
			if seen := must(p.Leader(ctx))(t); seen.Promise != short {
				t.Errorf("a standby sees %+v, written was %+v", seen.Promise, short)
			}
		}
	}
}
