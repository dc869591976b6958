package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"qb/internal/pause"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

const ignoreAll = "ignore_startup_parameters = plan_cache_mode,jit,idle_session_timeout,idle_in_transaction_session_timeout,tcp_keepalives_idle," +
	"tcp_keepalives_interval,tcp_keepalives_count,tcp_user_timeout,client_connection_check_interval,statement_timeout,lock_timeout," +
	"synchronous_commit,enable_seqscan,enable_hashjoin,enable_mergejoin,enable_material"

// startPooler runs a real pgbouncer, as the server's user, before the server of a database. It returns the URL through
// it.
func startPooler(t *testing.T, database string, settings ...string) string {
	t.Helper()
	program, err := osexec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer"
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v; run tools/deps pgbouncer", err)
	}
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	sockets := u.Query().Get("host")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	dir, err := os.MkdirTemp("", "qb-pooler-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ini := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(
		"[databases]\n* = host=%s port=5432 user=qb\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\n"+
			"auth_type = trust\nauth_file = %s\nserver_login_retry = 1\n%s\n", sockets, port, filepath.Join(dir, "users"),
		strings.Join(settings, "\n"))
	if err := errors.Join(os.WriteFile(ini, []byte(text), 0o644),
		os.WriteFile(filepath.Join(dir, "users"), []byte(`"qb" ""`+"\n"), 0o644),
		os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(program, ini)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if info, err := os.Stat(sockets); err == nil && os.Geteuid() == 0 {
		owner := info.Sys().(*syscall.Stat_t)
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
			break
		}
		if time.Since(began) > patience {
			t.Fatal("pgbouncer does not listen")
		}
	}
	return fmt.Sprintf("postgres://qb@127.0.0.1:%d%s?sslmode=disable", port, u.Path)
}

// asWanted gives the settings of a leader's session to its user, as operations.md says it to who needs a pooler.
func asWanted(t *testing.T, database string) {
	t.Helper()
	p := openPostgres(t, database)
	for name, value := range relied() {
		exec(t, p, fmt.Sprintf("ALTER ROLE qb IN DATABASE %s SET %s = '%s'", p.lead.Database, name, value))
	}
	p.Close()
}

// A pooler that would share a leader's session with others, or keeps its settings from it, is refused at once, by name.
func TestPoolerIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		settings []string
		wanted   bool
		query    string
		says     string
	}{
		"session mode, as shipped": {[]string{"pool_mode = session"}, false, "", "08P01"},
		"session mode, settings ignored": {[]string{"pool_mode = session", ignoreAll}, false, "",
			"idle_session_timeout"},
		"transaction mode, as shipped": {[]string{"pool_mode = transaction"}, false, "", "08P01"},
		"transaction mode, settings ignored": {[]string{"pool_mode = transaction", ignoreAll}, false, "",
			"idle_session_timeout"},
		"transaction mode without prepared statements": {[]string{"pool_mode = transaction", ignoreAll}, false,
			"&default_query_exec_mode=exec", "idle_session_timeout"},
		"transaction mode, settings of the user": {[]string{"pool_mode = transaction", ignoreAll}, true, "",
			"transaction"},
		"transaction mode, of the user, without prepared": {[]string{"pool_mode = transaction", ignoreAll}, true,
			"&default_query_exec_mode=exec", "transaction"},
		"statement mode, settings of the user": {[]string{"pool_mode = statement", ignoreAll}, true, "",
			"transaction"},
		"transaction mode, servers in turns": {[]string{"pool_mode = transaction", ignoreAll,
			"server_round_robin = 1", "min_pool_size = 5"}, true, "", "transaction"},
	} {
		t.Run(name, func(t *testing.T) {
			database := newDatabase(t)
			if tc.wanted {
				asWanted(t, database)
			}
			through := startPooler(t, database, tc.settings...) + tc.query
			for range 3 { // what an earlier client left in the pool changes nothing
				_, err := Open(t.Context(), through, Options{})
				if err == nil || Outage(err) || !strings.Contains(err.Error(), "pooler") ||
					!strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "database_url") {
					t.Fatalf("outage %v: %v", Outage(err), err)
				}
			}
		})
	}
}

// In session mode, with the settings given to the user, terms stand, and Postgres ends the session of a leader that is
// silent.
func TestPoolerOfSessions(t *testing.T) {
	database := newDatabase(t)
	asWanted(t, database)
	through := startPooler(t, database, "pool_mode = session", ignoreAll)
	first, second := openPostgres(t, through), openPostgres(t, through)
	term := lead(t, first)
	commit(t, term, facts.PutJob{Job: sampleJob(1)})
	next := lead(t, second)
	if err := term.Check(t.Context()); !errors.Is(err, store.ErrTermOver) {
		t.Errorf("a replaced leader's check: %v", err)
	}
	commit(t, next, facts.PutJob{Job: sampleJob(2)})
}

// A pooler that comes between later ends the term at the first statement that it hands to another session.
func TestPoolerPutBetween(t *testing.T) {
	database := newDatabase(t)
	asWanted(t, database)
	direct := openPostgres(t, database)
	through, err := leaderConfig(startPooler(t, database, "pool_mode = transaction", ignoreAll))
	if err != nil {
		t.Fatal(err)
	}
	direct.lead = through
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() {
		for ctx.Err() == nil && !errors.Is(direct.Trouble(), store.ErrPooler) {
			_ = pause.For(ctx, 20*time.Millisecond)
		}
		cancel()
	}()
	if _, err := direct.Lead(ctx); !errors.Is(err, context.Canceled) || !errors.Is(direct.Trouble(), store.ErrPooler) {
		t.Errorf("led through it: %v, %v", err, direct.Trouble())
	}
}
