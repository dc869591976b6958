package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"qb/cmd/qb/qube"
	"qb/internal/statedir"
)

// TestMain makes the test binary stand for qb and all its links, the workers and shims of the farms included.
func TestMain(m *testing.M) {
	commands := map[string]func(){"qb": main, "squat": squat, "listen": listen, "licensed": licensed, "maild": maild, "silent": silent}
	for _, name := range linkedCommands() {
		commands["qb"+name] = main
	}
	for _, name := range qube.Commands() {
		commands["qb"+name] = main
	}
	commands[openjdName] = main
	testscript.Main(farmed{m}, commands)
}

// farmed runs the tests with the programs that they start, and ends the shared farm after them.
type farmed struct{ *testing.M }

func (m farmed) Run() int {
	built, err := useBuilt()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(built)
	code := m.M.Run()
	if err := shared.end(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// tested is the test binary under the name qb.
var tested string

// useBuilt builds qb as `make build` does, and has tests find it under all its names before the test binary. Under the
// race detector a command takes five times as long to start, and tests run thousands. The farm that scripts share is
// the test binary.
func useBuilt() (dir string, err error) {
	if tested, err = exec.LookPath("qb"); err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "qb-built-"); err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-trimpath", "-o", dir+"/", ".", "../qb-bench")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("building qb: %w\n%s", err, out)
	}
	for _, name := range append(qube.Commands(), linkedCommands()...) {
		if err := os.Symlink("qb", filepath.Join(dir, "qb"+name)); err != nil && !errors.Is(err, os.ErrExist) {
			return dir, err
		}
	}
	if err := os.Symlink("qb", filepath.Join(dir, openjdName)); err != nil {
		return dir, err
	}
	return dir, errors.Join(os.Chmod(dir, 0o755), os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH")))
}

// farmCommand starts a farm of a program: qb as it is built, or the test binary.
func farmCommand(program, state string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, append([]string{"farm", "-state", state, "-listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), "QB_SUPERVISOR_KILL_GRACE=1s", "QB_WORKER_NAME=h", "QB_CONF="+os.DevNull)
	return cmd
}

// sharedFarm is one real farm for all scripts that need one: Postgres, supervisor and two workers.
type sharedFarm struct {
	once  sync.Once
	err   error
	cmd   *exec.Cmd
	state string
	url   string
}

var shared sharedFarm

const (
	farmWithin = 3 * time.Minute // to be ready, on a busy machine
	laterLimit = 3 * time.Minute // for what a script waits for
)

func (f *sharedFarm) start() error {
	f.once.Do(func() { f.err = f.begin() })
	return f.err
}

func (f *sharedFarm) begin() (err error) {
	if f.state, err = os.MkdirTemp("", "qb-script-"); err != nil {
		return err
	}
	if err = os.Chmod(f.state, 0o711); err != nil { // the server's user must enter it
		return err
	}
	f.cmd = farmCommand(tested, filepath.Join(f.state, "farm"), "-hosts", "2", "-slots", "12")
	log, err := os.Create(filepath.Join(f.state, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	f.cmd.Stderr = log
	out, err := f.cmd.StdoutPipe()
	if err == nil {
		err = f.cmd.Start()
	}
	if err != nil {
		return err
	}
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(out).ReadString('\n')
		line <- text
	}()
	select {
	case text := <-line:
		if url, ok := strings.CutPrefix(text, "ready "); ok {
			f.url = strings.TrimSpace(url)
			return nil
		}
	case <-time.After(farmWithin):
	}
	said, _ := os.ReadFile(log.Name())
	return fmt.Errorf("the farm did not become ready; its log:\n%s", said)
}

// end stops the farm and looks that nothing of it is left.
func (f *sharedFarm) end() error {
	if f.cmd == nil || f.cmd.Process == nil {
		return nil
	}
	stopErr := errors.Join(f.cmd.Process.Signal(syscall.SIGTERM), f.cmd.Wait())
	if stopErr != nil {
		said, _ := os.ReadFile(filepath.Join(f.state, "log"))
		stopErr = fmt.Errorf("the farm ended with %w; its log:\n%s", stopErr, said)
	}
	return errors.Join(stopErr, removeFarm(f.state))
}

// Each file of testdata/script is a dialogue with the commands. Those in whose first line is "farm"
// run on the shared farm.
func TestScripts(t *testing.T) {
	needsPostgres(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Condition: func(name string) (bool, error) {
			switch name {
			case "root":
				return os.Geteuid() == 0, nil
			case "fuse":
				return mountsFuse(), nil
			}
			return false, fmt.Errorf("there is no condition %q", name)
		},
		Setup: func(env *testscript.Env) error {
			env.Defer(func() { removeTemps(env.WorkDir) })
			env.Setenv("USER", statedir.OwnName())
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("QB_CONF", os.DevNull)
			module, err := filepath.Abs("../../python")
			if err != nil {
				return err
			}
			env.Setenv("PYTHONPATH", module)
			env.Setenv("PYTHONDONTWRITEBYTECODE", "1")
			for _, dir := range []string{env.WorkDir, filepath.Dir(env.WorkDir)} { // a private Postgres enters them
				if err := os.Chmod(dir, 0o711); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"farm": useFarm, "keep": keep, "later": later, "member": member, "code": code, "ledger": ledger,
		},
	})
}

// useFarm points a script at the shared farm, starting it if it is the first.
func useFarm(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: farm")
	}
	ts.Check(shared.start())
	ts.Setenv("QB_STATE", filepath.Join(shared.state, "farm"))
	ts.Setenv("URL", shared.url)
}

// keep NAME remembers what the last command printed as $NAME.
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: keep NAME")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// code N COMMAND… runs a command that must end with that exit code.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND…")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v: %v", args[1:], err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("%v ends with exit code %d, want %s; it says\n%s%s", args[1:], got, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// later PATTERN COMMAND… repeats a command until its output matches. It pauses for thrice as long as the command took,
// so that scripts that wait leave the processors to what they wait for: under the race detector a start takes a third
// of a second of them.
func later(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: later PATTERN COMMAND…")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	var text string
	for began := time.Now(); time.Since(began) < laterLimit; {
		asked := time.Now()
		err = ts.Exec(args[1], args[2:]...)
		text = ts.ReadFile("stdout") + ts.ReadFile("stderr")
		if pattern.MatchString(text) {
			return
		}
		time.Sleep(min(3*time.Since(asked), time.Second))
	}
	ts.Fatalf("%v never says %q; the last time, %v:\n%s", args[1:], args[0], err, text)
}

// member PATH WANT looks into the JSON that the last command printed: 0.items.total 3.
func member(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] member PATH WANT")
	}
	var value any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &value))
	for name := range strings.SplitSeq(args[0], ".") {
		switch v := value.(type) {
		case map[string]any:
			inner, ok := v[name]
			if !ok {
				ts.Fatalf("%s: there is no member %q in %v", args[0], name, v)
			}
			value = inner
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n >= len(v) {
				ts.Fatalf("%s: no element %s in %d", args[0], name, len(v))
			}
			value = v[n]
		default:
			ts.Fatalf("%s: %v has no members", args[0], value)
		}
	}
	got, err := json.Marshal(value)
	ts.Check(err)
	if text, ok := value.(string); ok {
		got = []byte(text)
	}
	if (string(got) == args[1]) == neg {
		ts.Fatalf("%s is %s, want %s (or not, with !)", args[0], got, args[1])
	}
}
