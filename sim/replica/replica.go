// Package replica is for tests: a Postgres server, and a replica that follows it, as processes of their own on ports of
// loopback.
package replica

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Server is a Postgres of a test's.
type Server struct {
	t    testing.TB
	data string
	port int
}

// Start makes a server with the database qb, and a replica that follows it. Both end with the test.
func Start(t testing.TB) (primary, follower *Server) {
	t.Helper()
	dir, err := os.MkdirTemp("", "qb-replica-")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		err = os.Chmod(dir, 0o777) // the servers' user makes their folders
	}
	if err != nil {
		t.Fatal(err)
	}
	primary, follower = newServer(t, dir, "a"), newServer(t, dir, "b")
	program(t, "initdb", "-D", primary.data, "-U", "qb", "-A", "trust", "-N")
	primary.Start()
	program(t, "createdb", "-h", "127.0.0.1", "-p", strconv.Itoa(primary.port), "-U", "qb", "qb")
	program(t, "pg_basebackup", "-D", follower.data, "-d",
		fmt.Sprintf("host=127.0.0.1 port=%d user=qb application_name=b", primary.port), "-R", "-c", "fast", "-X", "stream")
	follower.Start()
	return primary, follower
}

func newServer(t testing.TB, dir, name string) *Server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return &Server{t: t, data: filepath.Join(dir, name), port: l.Addr().(*net.TCPAddr).Port}
}

// program runs one of Postgres's programs, as another user if this one is root, as which none of them runs.
func program(t testing.TB, name string, args ...string) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	path, err := exec.LookPath(name)
	if len(found) > 0 {
		path, err = found[len(found)-1], nil
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = "/"
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: postgres(t)}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return strings.TrimSpace(string(out))
}

func postgres(t testing.TB) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// Start starts the server, as a reboot does.
func (s *Server) Start() {
	s.t.Helper()
	options := fmt.Sprintf("-p %d -c listen_addresses=127.0.0.1 -c unix_socket_directories=%s -c fsync=off", s.port,
		filepath.Dir(s.data))
	program(s.t, "pg_ctl", "-D", s.data, "-w", "-s", "-l", s.data+".log", "-o", options, "start")
	s.t.Cleanup(s.Stop)
}

// Stop ends the server at once, as a crash does.
func (s *Server) Stop() {
	if _, err := os.Stat(filepath.Join(s.data, "postmaster.pid")); err == nil {
		program(s.t, "pg_ctl", "-D", s.data, "-w", "-s", "-m", "immediate", "stop")
	}
}

// Promote makes a primary of a replica.
func (s *Server) Promote() {
	s.t.Helper()
	program(s.t, "pg_ctl", "-D", s.data, "-w", "-s", "promote")
}

// Set changes a setting of the server, as long as it has this data folder.
func (s *Server) Set(name, value string) {
	s.t.Helper()
	s.Query(fmt.Sprintf("ALTER SYSTEM SET %s = '%s'", name, value))
	s.Query("SELECT pg_reload_conf()")
}

// Query is what the server says to a statement, one row a line.
func (s *Server) Query(sql string) string {
	s.t.Helper()
	return program(s.t, "psql", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "qb", "-d", "qb", "-XAtc", sql)
}

// Port is where the server listens on 127.0.0.1.
func (s *Server) Port() int { return s.port }

// URL is a database_url with the servers in this order.
func URL(servers ...*Server) string {
	var hosts []string
	for _, s := range servers {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", s.port))
	}
	return "postgres://qb@" + strings.Join(hosts, ",") + "/qb?sslmode=disable&target_session_attrs=read-write"
}
