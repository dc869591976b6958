package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	osexec "os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/facts"
	"qb/supervisor/store"
)

// server is a Postgres of its own, on a port of loopback.
type server struct {
	t    *testing.T
	data string
	port int
}

// program runs one of Postgres's programs, as another user if this one is root, as which none of them runs.
func program(t *testing.T, name string, args ...string) {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	path, err := osexec.LookPath(name)
	if len(found) > 0 {
		path, err = found[len(found)-1], nil
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(path, args...)
	cmd.Dir = "/"
	if os.Geteuid() == 0 {
		u := must(user.Lookup("postgres"))(t)
		uid, gid := must(strconv.Atoi(u.Uid))(t), must(strconv.Atoi(u.Gid))(t)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func newServer(t *testing.T, dir, name string) *server {
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return &server{t: t, data: filepath.Join(dir, name), port: l.Addr().(*net.TCPAddr).Port}
}

func (s *server) start() {
	s.t.Helper()
	options := fmt.Sprintf("-p %d -c listen_addresses=127.0.0.1 -c unix_socket_directories=%s -c fsync=off", s.port, filepath.Dir(s.data))
	program(s.t, "pg_ctl", "-D", s.data, "-w", "-s", "-l", s.data+".log", "-o", options, "start")
	s.t.Cleanup(s.stop)
}

func (s *server) stop() {
	if _, err := os.Stat(filepath.Join(s.data, "postmaster.pid")); err == nil {
		program(s.t, "pg_ctl", "-D", s.data, "-w", "-s", "-m", "immediate", "stop")
	}
}

func (s *server) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// replicated are a server and a replica that follows it.
func replicated(t *testing.T) (a, b *server) {
	dir := must(os.MkdirTemp("", "qb-replica-"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	a, b = newServer(t, dir, "a"), newServer(t, dir, "b")
	program(t, "initdb", "-D", a.data, "-U", "qb", "-A", "trust", "-N")
	a.start()
	program(t, "createdb", "-h", "127.0.0.1", "-p", fmt.Sprint(a.port), "-U", "qb", "qb")
	program(t, "pg_basebackup", "-D", b.data, "-d", fmt.Sprintf("host=127.0.0.1 port=%d user=qb", a.port), "-R", "-c", "fast", "-X", "stream")
	b.start()
	return a, b
}

func urlOf(servers ...*server) string {
	hosts := servers[0].address()
	for _, s := range servers[1:] {
		hosts += "," + s.address()
	}
	return "postgres://qb@" + hosts + "/qb?sslmode=disable&target_session_attrs=read-write"
}

// soonLead leads within a time in which a leader that goes from address to address would.
func soonLead(t *testing.T, s *Store) (store.Term, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return s.Lead(ctx)
}

// A primary that comes back after a replica was promoted in its place never leads while the replica is there; nor without
// it, once a host has told of it, but by a person's order. A promotion is listened to as a restore is.
func TestOldPrimaryComesBack(t *testing.T) {
	a, b := replicated(t)
	p := openPostgres(t, urlOf(a, b))
	first := lead(t, p)
	commit(t, first, facts.PutJob{Job: sampleJob(1)})
	one := first.Descent()
	eventuallyReplayed(t, a)
	a.stop()
	program(t, "pg_ctl", "-D", b.data, "-w", "-s", "promote")
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

	a.start() // as a reboot does
	goToTheFarmsRows(t, p, a, b)
	for _, restarted := range []*Store{p, openPostgres(t, urlOf(a, b)), openPostgres(t, urlOf(b, a))} {
		term := must(soonLead(t, restarted))(t)
		if d := term.Descent(); d.Timeline != 2 || d.PutBack || len(load(t, term).Jobs) != 2 {
			t.Fatalf("with the old primary there a leader has %+v and %d jobs", d, len(load(t, term).Jobs))
		}
		if _, err := restarted.Leader(ctx); err != nil {
			t.Error(err)
		}
		term.Close(ctx)
	}

	b.stop()
	alone := openPostgres(t, urlOf(a)) // which does not know the other
	term := must(soonLead(t, alone))(t)
	if err := term.Supersede(ctx, store.Heard{Lineage: one.Lineage, Epoch: 2, Host: "h", Timeline: 2}); err != nil {
		t.Fatal(err)
	}
	term.Close(ctx)
	for _, s := range []*Store{alone, openPostgres(t, urlOf(a)), openPostgres(t, urlOf(a, b))} {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		if _, err := s.Lead(ctx); !errors.Is(s.Trouble(), store.ErrOlderServer) {
			t.Errorf("the old primary is led: %v, %v", err, s.Trouble())
		}
		cancel()
	}
	acceptsOlder(t, a, one.Lineage)
}

// goToTheFarmsRows looks that programs beside the supervisor, and the leader's own audit, take the rows of the second server,
// whichever address comes first. A backup of the former primary's would lack all that came after the promotion.
func goToTheFarmsRows(t *testing.T, leader *Store, former, promoted *server) {
	t.Helper()
	for _, url := range []string{urlOf(former, promoted), urlOf(promoted, former)} {
		if report := must(Audit(ctx, url))(t); report.Jobs != 2 {
			t.Errorf("an audit finds %d jobs, want the 2 of the promoted replica", report.Jobs)
		}
		found := must(FindServer(ctx, url))(t)
		if env := found.ClientEnv(); !slices.Contains(env, fmt.Sprintf("PGPORT=%d", promoted.port)) || !slices.Contains(env, "PGSSLMODE=disable") {
			t.Errorf("a backup goes to %q, want port %d", env, promoted.port)
		}
		restore := must(PrepareRestore(ctx, found, RestoreOptions{Force: true}))(t)
		if at := place(restore.conn.Config()); at != place(found.cfg) {
			t.Errorf("a restore replaces the rows at %s, want %s", at, place(found.cfg))
		}
		restore.Close()
	}
	var at string
	if err := leader.inspect(ctx, func(tx pgx.Tx) error { return tx.QueryRow(ctx, `SHOW port`).Scan(&at) }); err != nil || at != fmt.Sprint(promoted.port) {
		t.Errorf("the leader's audit of its workers reads at port %s, want %d: %v", at, promoted.port, err)
	}
}

// A replica that follows is in order: nothing is said of it when its primary is chosen.
func TestReplicaThatFollowsIsNoWarning(t *testing.T) {
	a, b := replicated(t)
	var log bytes.Buffer
	p := must(Open(ctx, urlOf(b, a), Options{Log: slog.New(slog.NewTextHandler(&log, nil))}))(t)
	p.Close()
	if strings.Contains(log.String(), "WARN") {
		t.Errorf("a farm with its replica warns at its start:\n%s", &log)
	}
}

func acceptsOlder(t *testing.T, a *server, before string) {
	time.Sleep(store.TrustFor) // its last leader counts as there
	counted := must(AcceptOlder(ctx, urlOf(a), "", false))(t)
	if counted.Timeline != 1 || counted.Newer != 2 || counted.Jobs != 1 {
		t.Errorf("counted is %+v", counted)
	}
	must(AcceptOlder(ctx, urlOf(a), "", true))(t)
	term := must(soonLead(t, openPostgres(t, urlOf(a))))(t)
	if d := term.Descent(); !d.PutBack || !d.Moved || d.Lineage == before {
		t.Errorf("accepted, the descent is %+v", d)
	}
}

// eventuallyReplayed waits until the replica has what the primary has acknowledged.
func eventuallyReplayed(t *testing.T, primary *server) {
	t.Helper()
	conn := must(openRestore(ctx, urlOf(primary)))(t)
	defer drop(conn)
	for range 200 {
		var same bool
		if err := conn.QueryRow(ctx, `SELECT coalesce(bool_and(replay_lsn >= pg_current_wal_lsn()), false) FROM pg_stat_replication`).Scan(&same); err != nil {
			t.Fatal(err)
		}
		if same {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the replica does not follow")
}
