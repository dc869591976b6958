package postgres

import (
	"testing"

	"qb/supervisor/store"
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
