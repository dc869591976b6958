package main

import (
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// connects finds code that connects to something, in each language of the tree.
var connects = map[string]*regexp.Regexp{
	".go": regexp.MustCompile(`net\.Dial|net\.Dialer\{|tls\.Dial|http\.Client\{|http\.DefaultClient|http\.(Get|Head|Post|PostForm)\(`),
	".py": regexp.MustCompile(`HTTPS?Connection\(|create_connection\(|urlopen\(|sock\.connect\(`),
	".js": regexp.MustCompile(`\bfetch\(|EventSource\(|WebSocket\(|XMLHttpRequest\(|sendBeacon\(`),
}

// loopbackRow is a row of the table in docs/security.md.
type loopbackRow struct {
	client, test string
	files        []string
}

func loopbackTable(t *testing.T) (rows []loopbackRow) {
	t.Helper()
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Clients of loopback\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, " | "); len(cells) == 4 && strings.Contains(cells[1], "`") {
			rows = append(rows, loopbackRow{strings.TrimPrefix(cells[0], "| "), strings.Trim(strings.TrimSpace(cells[3]), "`| "), strings.Split(strings.ReplaceAll(cells[1], "`", ""), ", ")})
		}
	}
	if len(rows) < 5 {
		t.Fatalf("docs/security.md has the rows %v", rows)
	}
	return rows
}

// TestClientsOfLoopback walks the table of all programs that connect to something: all code that does so has a row, each row is of such
// code and names a test that there is, and each client that finds a stranger at the port of its farm sends him nothing, neither its token nor
// what it asks for.
func TestClientsOfLoopback(t *testing.T) {
	t.Parallel()
	rows := loopbackTable(t)
	listed, tests := map[string]bool{}, map[string]bool{}
	for _, row := range rows {
		tests[row.test] = false
		for _, file := range row.files {
			listed[file] = false
		}
	}
	walkTree(t, func(name, text string) {
		if strings.HasSuffix(name, "_test.go") {
			for test := range tests {
				if strings.Contains(text, "\nfunc "+test+"(t *testing.T)") {
					tests[test] = true
				}
			}
			return
		}
		if found := connects[filepath.Ext(name)].FindString(text); found != "" {
			if _, ok := listed[name]; !ok {
				t.Errorf("%s connects (%s) and has no row in docs/security.md, Clients of loopback", name, found)
			}
			listed[name] = true
		}
	})
	for file, found := range listed {
		if !found {
			t.Errorf("docs/security.md: %s does not connect to anything", file)
		}
	}
	for test, found := range tests {
		if !found {
			t.Errorf("docs/security.md: there is no test %s", test)
		}
	}
	if os.Geteuid() != 0 {
		t.Log("only root has another user listen")
		return
	}
	meetStranger(t, rows)
}

// walkTree reads all sources of the product, and all tests.
func walkTree(t *testing.T, see func(name, text string)) {
	t.Helper()
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ = filepath.Rel("../..", name) // both are relative
		test := strings.HasSuffix(name, "_test.go")
		switch {
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "vendor" || d.Name() == "testdata" || d.Name() == "bin"):
			return filepath.SkipDir
		case d.IsDir(), connects[filepath.Ext(name)] == nil, name == "python/test_qb.py":
			return nil
		case !test && (strings.HasPrefix(name, "sim/") || strings.HasPrefix(name, "tools/")):
			return nil // helpers of tests
		}
		text, err := os.ReadFile(filepath.Join("../..", name))
		see(name, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// meetStranger has each client of the table find a stranger at the address of its farm.
func meetStranger(t *testing.T, rows []loopbackRow) {
	dir := farmFolder(t)
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("qb_admin_0123456789abcdef_"+strings.Repeat("x", 43)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address, heard := stranger(t, dir)
	clients := map[string][]string{
		"commands": {"qbsub", "-supervisor", address, "true"},
		"worker":   {"qbworker", "-supervisor", address, "-token_file", token, "-state", filepath.Join(dir, "w"), "-name", "w", "-slots", "1", "-run_as", "agent"},
		"bench":    {"qb-bench", "hosts", "-url", address, "-hosts", "1"},
		"Python":   {"python3", "-c", `import qb, sys; qb.Client(sys.argv[1], retry=0).submit(["true"])`, address},
	}
	python, err := filepath.Abs("../../python")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		args, ok := clients[row.client]
		if !ok {
			continue // it has a test of its own
		}
		delete(clients, row.client)
		before := strings.Count(heard(), "connection\n")
		cmd := exec.Command(args[0], args[1:]...)
		var said strings.Builder
		cmd.Stdout, cmd.Stderr, cmd.Dir = &said, &said, dir
		cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+filepath.Join(dir, "none"), "QB_TOKEN_FILE="+token, "QB_SUPERVISOR="+address, "PYTHONPATH="+python)
		stdin, err := cmd.StdinPipe() // bench plays until it is closed
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(laterLimit); strings.Count(heard(), "connection\n") == before; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("%s: it never connects to the stranger: %s", row.client, said.String())
				break
			}
		}
		time.Sleep(time.Second) // in which it would send
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed, or with the refusal
	}
	for client := range clients {
		t.Errorf("docs/security.md has no row of the client %s", client)
	}
	all := heard()
	if rest := strings.ReplaceAll(all, "connection\n", ""); rest != "" {
		t.Errorf("the stranger was sent %q", rest)
	}
}

// stranger is another user who listens; heard is what he was sent, with a line for each connection.
func stranger(t *testing.T, dir string) (address string, heard func() string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	system(t, "cp", self, filepath.Join(dir, "listen"))
	log := filepath.Join(dir, "heard")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(filepath.Join(dir, "listen"), address)
	cmd.Args[0], cmd.Dir, cmd.Stdout = "listen", "/", out
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	heard = func() string {
		data, _ := os.ReadFile(log) // there is one
		return string(data)
	}
	for end := time.Now().Add(laterLimit); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal("the stranger does not listen")
		}
	}
	return "http://" + address, heard
}

// listen is what the stranger runs: it writes down connections and what comes by them.
func listen() {
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			fmt.Print("connection\n")
			_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
			_, _ = io.Copy(os.Stdout, c) // until it is closed
		}()
	}
}
