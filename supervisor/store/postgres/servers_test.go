package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/sim/replica"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// soonLead leads within a time in which a leader that goes from address to address would.
func soonLead(t *testing.T, s *Store) (store.Term, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return s.Lead(ctx)
}

// TestOldPrimaryComesBack: a primary that returns after a replica was promoted never leads while the replica is up.
// Without the replica it does not lead either once a host has reported the promotion, except by an admin's order. After
// a promotion, as after a restore, the term listens to all hosts first.
func TestOldPrimaryComesBack(t *testing.T) {
	a, b := replica.Start(t)
	p := openPostgres(t, replica.URL(a, b))
	first := lead(t, p)
	commit(t, first, facts.PutJob{Job: sampleJob(1)})
	one := first.Descent()
	eventuallyReplayed(t, a)
	a.Stop()
	b.Promote()
	second := must(soonLead(t, p))(t)
	two := second.Descent()
	if one.Timeline != 1 || two.Timeline != 2 || two.Lineage != one.Lineage || !two.PutBack || two.Moved {
		t.Fatalf("the primary's descent is %+v, the promoted replica's %+v", one, two)
	}
	if err := second.Settle(ctx, 1, 1); err != nil {
		t.Fatal(err)
	}
	commit(t, second, facts.PutJob{Job: sampleJob(2)})
	second.Close(ctx)

	a.Start() // as a reboot does
	goToTheFarmsRows(t, p, a, b)
	for _, restarted := range []*Store{p, openPostgres(t, replica.URL(a, b)), openPostgres(t, replica.URL(b, a))} {
		term := must(soonLead(t, restarted))(t)
		if d := term.Descent(); d.Timeline != 2 || d.PutBack || len(load(t, term).Jobs) != 2 {
			t.Fatalf("with the old primary there a leader has %+v and %d jobs", d, len(load(t, term).Jobs))
		}
		if _, err := restarted.Leader(ctx); err != nil {
			t.Error(err)
		}
		term.Close(ctx)
	}

	b.Stop()
	alone := openPostgres(t, replica.URL(a)) // which does not know the other
	term := must(soonLead(t, alone))(t)
	if err := term.Supersede(ctx, store.HigherTerm{Lineage: one.Lineage, Epoch: 2, Host: "h", Timeline: 2}); err != nil {
		t.Fatal(err)
	}
	term.Close(ctx)
	for _, s := range []*Store{alone, openPostgres(t, replica.URL(a)), openPostgres(t, replica.URL(a, b))} {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		if _, err := s.Lead(ctx); !errors.Is(s.Trouble(), store.ErrOlderServer) {
			t.Errorf("the old primary is led: %v, %v", err, s.Trouble())
		}
		cancel()
	}
	acceptsOlder(t, a, one.Lineage)
}

// goToTheFarmsRows looks that programs beside the supervisor, and the leader's own audit, take the rows of the second
// server, whichever address comes first. A backup of the former primary's would lack all that came after the promotion.
func goToTheFarmsRows(t *testing.T, leader *Store, former, promoted *replica.Server) {
	t.Helper()
	for _, url := range []string{replica.URL(former, promoted), replica.URL(promoted, former)} {
		if report := must(Audit(ctx, url))(t); report.Jobs != 2 {
			t.Errorf("an audit finds %d jobs, want the 2 of the promoted replica", report.Jobs)
		}
		found := must(FindServer(ctx, url))(t)
		if env := found.ClientEnv(); !slices.Contains(env, fmt.Sprintf("PGPORT=%d", promoted.Port())) ||
			!slices.Contains(env, "PGSSLMODE=disable") {
			t.Errorf("a backup goes to %q, want port %d", env, promoted.Port())
		}
		restore := must(PrepareRestore(ctx, found, RestoreOptions{Force: true}))(t)
		if at := place(restore.conn.Config()); at != place(found.cfg) {
			t.Errorf("a restore replaces the rows at %s, want %s", at, place(found.cfg))
		}
		restore.Close()
	}
	var at string
	if err := leader.inspect(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SHOW port`).Scan(&at)
	}); err != nil || at != fmt.Sprint(promoted.Port()) {
		t.Errorf("the leader's audit of its workers reads at port %s, want %d: %v", at, promoted.Port(), err)
	}
}

// A replica that follows is in order: nothing is said of it when its primary is chosen.
func TestReplicaThatFollowsIsNoWarning(t *testing.T) {
	a, b := replica.Start(t)
	var log bytes.Buffer
	p := must(Open(ctx, replica.URL(b, a), Options{Log: slog.New(slog.NewTextHandler(&log, nil))}))(t)
	p.Close()
	if strings.Contains(log.String(), "WARN") {
		t.Errorf("a farm with its replica warns at its start:\n%s", &log)
	}
}

func acceptsOlder(t *testing.T, a *replica.Server, before string) {
	time.Sleep(store.TrustFor) // its last leader counts as there
	counted := must(AcceptOlder(ctx, replica.URL(a), "", false))(t)
	if counted.Timeline != 1 || counted.Newer != 2 || counted.Jobs != 1 {
		t.Errorf("counted is %+v", counted)
	}
	must(AcceptOlder(ctx, replica.URL(a), "", true))(t)
	term := must(soonLead(t, openPostgres(t, replica.URL(a))))(t)
	if d := term.Descent(); !d.PutBack || !d.Moved || d.Lineage == before {
		t.Errorf("accepted, the descent is %+v", d)
	}
}

// eventuallyReplayed waits until the replica has what the primary has acknowledged.
func eventuallyReplayed(t *testing.T, primary *replica.Server) {
	t.Helper()
	conn := must(openRestore(ctx, replica.URL(primary)))(t)
	defer drop(conn)
	for range 200 {
		var same bool
		if err := conn.QueryRow(ctx,
			`SELECT coalesce(bool_and(replay_lsn >= pg_current_wal_lsn()), false) FROM pg_stat_replication`).Scan(
			&same); err != nil {
			t.Fatal(err)
		}
		if same {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the replica does not follow")
}
