package postgres

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// A leader whose session Postgres ended cannot commit, and the next one can.
func TestTerminatedLeader(t *testing.T) {
	p := emptyPostgres(t)
	term := lead(t, p)
	commit(t, term, facts.PutJob{Job: sampleJob(1)})
	terminateLeader(t, p)
	if err := term.Commit(ctx, []facts.Write{facts.PutJob{Job: sampleJob(2)}}); !errors.Is(err, store.ErrTermOver) {
		t.Fatalf("committed on a terminated session: %v", err)
	}
	next := lead(t, p)
	if rows := load(t, next); len(rows.Jobs) != 1 {
		t.Errorf("loaded %d jobs, want 1", len(rows.Jobs))
	}
	commit(t, next, facts.PutJob{Job: sampleJob(2)})
}

// Postgres itself frees the lock of a leader that has fallen silent, in a transaction or out of one.
func TestSilentLeaderIsDeposed(t *testing.T) {
	for _, timeout := range []string{"idle_session_timeout", "idle_in_transaction_session_timeout"} {
		t.Run(timeout, func(t *testing.T) {
			url := emptied(t)
			silent := openPostgres(t, url)
			silent.lead.RuntimeParams[timeout] = "50"
			old := lead(t, silent)
			if timeout == "idle_in_transaction_session_timeout" {
				if err := send(ctx, old.(*term).conn,
					[]statement{{sql: sqlHoldEpoch, args: []any{old.Epoch()}, writes: 1}}); err != nil {
					t.Fatal(err)
				}
			}
			next := lead(t, openPostgres(t, url))
			commit(t, next, facts.PutJob{Job: sampleJob(1)})
			if err := old.Commit(ctx, []facts.Write{facts.PutJob{Job: sampleJob(2)}}); !errors.Is(err, store.ErrTermOver) {
				t.Errorf("a silent leader committed: %v", err)
			}
		})
	}
}

// TestNothingIsCompiled: Postgres does not JIT-compile qb's statements, although it does so for other clients by
// default.
func TestNothingIsCompiled(t *testing.T) {
	url := newDatabase(t)
	p := openPostgres(t, url)
	exec(t, p, "ALTER DATABASE "+p.lead.Database+" SET jit = on")
	p = openPostgres(t, url)
	sessions := map[string]func(context.Context, string, ...any) pgx.Row{"leader": lead(t, p).(*term).conn.QueryRow,
		"reader": p.pool.QueryRow}
	for name, queryRow := range sessions {
		var jit string
		if err := queryRow(ctx, "SHOW jit").Scan(&jit); err != nil || jit != "off" {
			t.Errorf("%s: jit = %s, %v", name, jit, err)
		}
	}
}

// A database that takes no writes, as a standby server, is named as such before a restore begins.
func TestRestoreIntoAReadOnlyDatabase(t *testing.T) {
	url := newDatabase(t)
	p := openPostgres(t, url)
	exec(t, p, "ALTER DATABASE "+p.lead.Database+" SET default_transaction_read_only = on")
	if _, err := PrepareRestore(ctx, must(FindServer(ctx, url))(t), RestoreOptions{}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("PrepareRestore: %v", err)
	}
}

// The epoch fences even a leader that still has its session, such as one whose lock an operator freed.
func TestEpochFencesWithoutTheLock(t *testing.T) {
	p := emptyPostgres(t)
	old := lead(t, p)
	if _, err := old.(*term).conn.Exec(ctx, sqlUnlock, int64(leaderLock)); err != nil {
		t.Fatal(err)
	}
	next := lead(t, p)
	if err := old.Commit(ctx, []facts.Write{facts.PutJob{Job: sampleJob(1)}}); !errors.Is(err, store.ErrTermOver) {
		t.Errorf("an old epoch committed: %v", err)
	}
	commit(t, next, facts.PutJob{Job: sampleJob(1)})
}

// A commit whose answer is lost is an error, yet durable: the next term finds it.
func TestCommitWithLostAnswer(t *testing.T) {
	p := openPostgres(t, emptied(t))
	var armed atomic.Bool
	dial := p.lead.DialFunc
	p.lead.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return &deafConn{conn, &armed}, err
	}
	term := lead(t, p)
	armed.Store(true)
	if err := term.Commit(ctx, []facts.Write{facts.PutJob{Job: sampleJob(1)}}); !errors.Is(err, store.ErrTermOver) {
		t.Fatalf("a commit without an answer: %v", err)
	}
	armed.Store(false)
	if rows := load(t, lead(t, p)); len(rows.Jobs) != 1 {
		t.Errorf("loaded %d jobs, want the one whose commit was not answered", len(rows.Jobs))
	}
}

// deafConn hears nothing more once it has said commit.
type deafConn struct {
	net.Conn
	armed *atomic.Bool
}

func (c *deafConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if c.armed.Load() && bytes.Contains(b, []byte("commit\x00")) {
		c.Conn.Close()
	}
	return n, err
}

// A database that is down is an error of Open, and Lead waits for it no longer than its context.
func TestDatabaseDown(t *testing.T) {
	url := "postgres:///qb?host=" + t.TempDir() + "&user=qb"
	if _, err := Open(ctx, url, Options{}); err == nil {
		t.Error("opened a database that is down")
	}
	p := openPostgres(t, emptied(t))
	p.lead.Host = t.TempDir()
	p.lead.Fallbacks = nil
	short, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := p.Lead(short); !errors.Is(err, context.Canceled) {
		t.Errorf("Lead: %v", err)
	}
}
