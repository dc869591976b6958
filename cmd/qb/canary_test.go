package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"qb/api"
	"qb/api/pin"
)

// canaries are secrets that no one may see, and the places that were searched for them.
type canaries struct {
	t *testing.T

	mu      sync.Mutex
	secrets map[string]string          // by what they are
	found   map[string]map[string]bool // place, what
}

const planted = "planted canary"

func (c *canaries) know(what, secret string) string {
	c.t.Helper()
	if secret = strings.TrimSpace(secret); len(secret) < 12 {
		c.t.Fatalf("the %s is %q", what, secret)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secrets[what] = secret
	return secret
}

var tokenPattern = regexp.MustCompile(`qb_[a-z-]+_[0-9a-f]{16}_([A-Za-z0-9_-]{43})(\.[A-Za-z0-9_-]{43})?`)

// token finds a token in a text and knows its secret part: its id may be shown.
func (c *canaries) token(what, text string) string {
	c.t.Helper()
	found := tokenPattern.FindStringSubmatch(text)
	if found == nil {
		c.t.Fatalf("the %s is not in %q", what, text)
	}
	c.know(what, found[1])
	return found[0]
}

func (c *canaries) look(place, text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found[place] == nil {
		c.found[place] = map[string]bool{}
	}
	for what, secret := range c.secrets {
		if strings.Contains(text, secret) {
			c.found[place][what] = true
		}
	}
	return text
}

func (c *canaries) saw(place, what string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.found[place][what]
}

// watchArguments looks at the command lines of all processes until it is ordered to end.
func (c *canaries) watchArguments(end <-chan struct{}) {
	for {
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, name := range lines {
			if line, err := os.ReadFile(name); err == nil {
				c.look("arguments", string(line))
			}
		}
		select {
		case <-end:
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// lookAtFiles searches the files below a folder but the ones that are there to hold secrets.
func (c *canaries) lookAtFiles(place, dir string, secret ...string) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil || slices.Contains(secret, name):
			if err == nil && entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		data, _ := os.ReadFile(path) // it may be gone by now
		c.look(place, string(data))
		return nil
	})
}

// canaryFarm is a farm on the network with a worker that joined, and what is said by all who have to do with it.
type canaryFarm struct {
	*canaries
	f        *testFarm
	dir, url string
	env      []string // of the farm
}

// command is one of an account with that environment; everything that it prints is searched.
func (c *canaryFarm) command(place string, env []string, stdin string, words ...string) string {
	c.t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Stdin = c.dir, strings.NewReader(stdin)
	cmd.Env = append(append(os.Environ(), "QB_CONF="+os.DevNull, "QB_SUPERVISOR_STATE="+c.f.state), env...)
	out, _ := cmd.CombinedOutput() // many are to fail
	if place == "" {
		return string(out)
	}
	return c.look(place, string(out))
}

// TestTokenCanaries: secrets of a farm that runs are in no log, no command line, no error and no output but the one
// that makes them known, and in the database only what a job needs to run. A secret that was planted is found in each
// of these places.
func TestTokenCanaries(t *testing.T) {
	t.Parallel()
	c := &canaryFarm{canaries: &canaries{t: t, secrets: map[string]string{}, found: map[string]map[string]bool{}}, dir: farmFolder(t)}
	c.know(planted, "planted-canary-4711")
	end := make(chan struct{})
	var watched sync.WaitGroup
	watched.Go(func() { c.watchArguments(end) })

	cluster := startCluster(t, filepath.Join(c.dir, "db"))
	defer func() { _ = cluster.Stop(t.Context()) }()
	address := strings.Replace(cluster.URL(), "?", "?password="+c.know("database password", "pw-canary-of-the-database")+"&", 1)
	c.start(address)
	local, worker := []string{"QB_STATE=" + c.f.state, "QB_DATABASE_URL=" + address}, filepath.Join(c.dir, "w1")
	for name, what := range map[string]string{"admin.token": "admin's token", "worker.token": "worker.token"} {
		if data, err := os.ReadFile(filepath.Join(c.f.state, name)); err == nil {
			c.token(what, string(data))
		}
	}
	key, err := os.ReadFile(filepath.Join(c.f.state, "farm.key"))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(key))
	c.know("farm key", words[len(words)-1])

	operator := c.token("operator's token", c.command("", local, "", "qbadmin", "token", "create", "-user", "olga", "-role", "operator"))
	code := c.token("code of an invitation", c.command("", local, "", "qbadmin", "user", "add", "bob", "-role", "user"))
	join := c.token("token to join", c.command("", local, "", "qbadmin", "worker", "token", "-ttl", "1h", "-uses", "1"))
	bob := []string{"HOME=" + c.dir + "/bob", "QB_STATE="}
	c.command("output", bob, code+"\n", "qb", "login", c.url)
	login, err := os.ReadFile(filepath.Join(c.dir, "bob/.config/qb/login.json"))
	if err != nil {
		t.Fatal(err)
	}
	c.token("user's token", string(login))
	joined := c.background("worker.log", append(bob, "QB_TOKEN="+join, "QB_WORKER_ALLOW_ROOT=true"), "qb", "worker", "-join", c.url, "-name", "w1", "-slots", "1", "-state", worker)
	c.f.until("the worker has joined", func() bool {
		return strings.Contains(c.command("output", local, "", "qbhosts"), "w1")
	})
	c.hostToken(worker)
	job := c.work(local)
	c.ask(local, bob, operator, code, join, job)
	c.end(joined, address, worker)
	close(end)
	watched.Wait()
	c.judge()
}

func (c *canaryFarm) start(address string) {
	c.f = &testFarm{t: c.t, state: filepath.Join(c.dir, "farm")}
	c.env = []string{"QB_DATABASE_URL=" + address, "QB_SUPERVISOR_NAMES=127.0.0.1", "QB_SUPERVISOR_KILL_GRACE=1s"}
	c.f.cmd = c.background("farm.log", c.env, "qb", "farm", "-state", c.f.state, "-listen", "0.0.0.0:0", "-hosts", "1", "-slots", "1")
	c.f.until("the farm is ready", func() bool {
		said, _ := os.ReadFile(filepath.Join(c.dir, "farm.log"))
		_, after, ready := strings.Cut(string(said), "ready https://")
		at, _, _ := strings.Cut(after, "\n")
		_, port, _ := strings.Cut(at, ":")
		c.url = "https://127.0.0.1:" + port
		return ready
	})
}

func (c *canaryFarm) background(log string, env []string, words ...string) *exec.Cmd {
	c.t.Helper()
	out, err := os.Create(filepath.Join(c.dir, log))
	if err != nil {
		c.t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(append(os.Environ(), "QB_CONF="+os.DevNull), env...), out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if c.t.Failed() {
			said, _ := os.ReadFile(out.Name())
			c.t.Logf("%s:\n%s", log, said)
		}
	})
	return cmd
}

// hostToken knows the token that the worker got for the token that it joined with.
func (c *canaryFarm) hostToken(state string) {
	_ = filepath.WalkDir(state, func(path string, entry fs.DirEntry, err error) error {
		if data, readErr := os.ReadFile(path); err == nil && readErr == nil && tokenPattern.Match(data) {
			c.token("host's token", string(data))
		}
		return nil
	})
}

// work submits a job with a secret in its environment, and a job that plants.
func (c *canaryFarm) work(local []string) string {
	farm, err := api.NewClient("unix:"+filepath.Join(c.f.state, "qb.sock"), "")
	if err != nil {
		c.t.Fatal(err)
	}
	var reply api.SubmitReply
	if err := farm.Call(c.t.Context(), api.Submit, nil, api.SubmitRequest{Command: []string{"sh", "-c", "sleep 0.3; false"}, Env: map[string]string{
		"SECRET": c.know("environment of a job", "env-canary-of-a-job")}}, &reply); err != nil {
		c.t.Fatal(err)
	}
	c.command("output", local, "", "qbsub", "-name", c.secrets[planted], "-waiton", "echo", c.secrets[planted])
	c.f.until("the job has ended", func() bool {
		return strings.Contains(c.command("", local, "", "qbjobs", fmt.Sprint(reply.Job)), "failed")
	})
	return fmt.Sprint(reply.Job)
}

// ask has all commands and endpoints say something, rightly and wrongly asked.
func (c *canaryFarm) ask(local, bob []string, operator, code, join, job string) {
	for _, env := range [][]string{local, bob, {"QB_STATE=", "HOME=" + c.dir, "QB_SUPERVISOR=" + c.url, "QB_TOKEN=" + operator}} {
		place := "output"
		for _, line := range []string{"qbping", "qbjobs", "qbitems " + job, "qbout " + job, "qberr " + job, "qbhosts -long", "qbadmin token list -json",
			"qbadmin user list -json", "qbadmin audit log -json", "qb history " + job, "qb explain " + job, "qb login -list", "qb config show -origin", "qb stats",
			"qb plan -live", "qbadmin nothing", "qbjobs -nothing", "qbkill 99999", "qb version", "qb ca show"} {
			c.command(place, env, "", strings.Fields(line)...)
		}
	}
	for _, line := range []string{"qbjobs -long " + job, "qbjobs -user all -json"} {
		c.command("output", bob, "", strings.Fields(line)...)
	}
	c.command("output", local, "", "qb", "backup", filepath.Join(c.dir, "backup"))
	c.command("output", append(local, "QB_DATABASE_URL=postgres://qb:"+c.secrets["database password"]+"@127.0.0.1:1/qb?connect_timeout=2"), "", "qb", "backup", filepath.Join(c.dir, "backup2"))
	c.command("output", bob, code+"\n", "qb", "login", c.url) // used up
	c.command("output", append(bob, "QB_TOKEN="+join), "", "qb", "worker", "-join", c.url, "-name", "w2", "-state", filepath.Join(c.dir, "w2"))
	// On a loaded machine the search can miss a command, which ends soon. It must not miss all of them.
	c.f.until("the search of arguments finds what was planted", func() bool {
		c.command("output", local, "", "qbjobs", c.secrets[planted])
		return c.saw("arguments", planted)
	})

	_, fingerprint := pin.Cut(operator)
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: pin.NewSet([]string{fingerprint}, nil).Config()}}
	secret, _ := pin.Cut(operator)
	forged := strings.Replace(secret, "qb_operator_", "qb_admin_", 1)
	// its path has what was planted, and is logged; of many refusals not all are
	c.request(client, api.LockHost, forged, "")
	for _, e := range api.Endpoints {
		for _, token := range []string{operator, code, join, forged, secret + "x"} {
			for _, body := range []string{"", "{", `{"name":"x","` + c.secrets[planted] + `":1}`} {
				c.request(client, e, token, body)
			}
		}
	}
}

func (c *canaryFarm) request(client *http.Client, e api.Endpoint, token, body string) {
	if e.ID == api.RemoveHost.ID || e.ID == api.RemoveJob.ID || e.ID == api.Events.ID || e.ID == api.ReadEnds.ID {
		return
	}
	path := strings.NewReplacer("{job}", "1", "{action}", "block", "{item}", "0", "{host}", c.secrets[planted], "{user}", "bob", "{token}", "0000000000000000").Replace(e.Path)
	secret, _ := pin.Cut(token)
	req, err := http.NewRequestWithContext(c.t.Context(), e.Method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		c.look("errors", err.Error())
		return
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	_ = resp.Header.Write(&text)
	_, _ = io.Copy(&text, io.LimitReader(resp.Body, 4<<20))
	if resp.StatusCode >= 400 {
		c.look("errors", text.String())
	}
}

// end stops everything and searches what is left.
func (c *canaryFarm) end(joined *exec.Cmd, address, worker string) {
	dump := exec.Command("pg_dump", "--dbname="+strings.Replace(address, "password="+c.secrets["database password"]+"&", "", 1))
	text, err := dump.Output()
	if err != nil || len(text) < 10_000 {
		c.t.Errorf("pg_dump: %v, %d bytes", err, len(text))
	}
	c.look("database", string(text))
	for _, cmd := range []*exec.Cmd{joined, c.f.cmd} {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	for _, log := range []string{"farm.log", "worker.log"} {
		said, err := os.ReadFile(filepath.Join(c.dir, log))
		if err != nil || len(said) == 0 {
			c.t.Errorf("%s: %d bytes, %v", log, len(said), err)
		}
		c.look("logs", string(said))
	}
	c.lookAtFiles("files", c.f.state, "admin.token", "worker.token", "farm.key", "tls")
	c.lookAtFiles("files", worker)
}

// legitimate are places that hold a secret for a reason.
var legitimate = map[string][]string{
	"database": {"environment of a job"}, // hosts get it from there
	"files":    {"host's token"},         // 0600, in the worker's state folder
}

func (c *canaryFarm) judge() {
	for _, what := range []string{"worker.token", "host's token", "user's token", "operator's token", "token to join", "code of an invitation", "farm key", "database password", "environment of a job"} {
		if c.secrets[what] == "" {
			c.t.Errorf("no %s was looked for", what)
		}
	}
	for _, place := range []string{"logs", "files", "database", "arguments", "errors", "output"} {
		if !c.found[place][planted] {
			c.t.Errorf("the search of %s does not find what was planted there", place)
		}
		for _, what := range slices.Sorted(maps.Keys(c.found[place])) {
			if what != planted && !slices.Contains(legitimate[place], what) {
				c.t.Errorf("%s: the %s is there", place, what)
			}
		}
	}
}
