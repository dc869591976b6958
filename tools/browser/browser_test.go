// Package browser_test lets a real browser open pages of a stranger that try all that a page can against a farm on
// loopback. Even with an admin's token in their hands they get nothing: neither an effect nor a word.
package browser_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const canary = "canary-of-a-job"

// page tries everything and leaves in results what it could read, as "what status text".
const page = `
async function attack(bases, token, own) {
  const read = [], body = JSON.stringify({command: ["true"], name: "forged"});
  const paths = ["/v1/jobs", "/v1/jobs/1", "/v1/jobs/1/orders/kill", "/v1/tokens", "/v1/hosts/h/lock", "/v1/events", "/v1/audit", "/v1/reread", "/v1/sync",
    "/metrics", "/healthz", "/v1/openapi.json", "/docs", "/"];
  const soon = promise => Promise.race([promise, new Promise(done => setTimeout(done, 5000))]);
  const all = [];
  for (const base of bases) for (const path of paths) {
    for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QB"]) for (const mode of ["cors", "no-cors"])
      for (const headers of [{}, {"Content-Type": "application/json", "Authorization": "Bearer " + token}]) {
        const options = {method, mode, headers, credentials: "include", signal: AbortSignal.timeout(5000)};
        if (!["GET", "HEAD"].includes(method)) options.body = body;
        all.push(async () => {
          try {
            const answer = await fetch(base + path, options);
            if (answer.type !== "opaque") read.push(method + " " + base + path + " " + answer.status + " " + await answer.text());
          } catch (e) {}
        });
      }
    all.push(async () => soon(new Promise(done => { // pictures, scripts, styles, frames, objects
      let left = 5;
      for (const [tag, name] of [["img", "src"], ["script", "src"], ["link", "href"], ["object", "data"], ["video", "src"]]) {
        const e = document.createElement(tag);
        e.rel = "stylesheet";
        e.onload = () => { if (tag !== "object") read.push(tag + " " + base + path + " 200 loaded"); if (!--left) done() };
        e.onerror = () => { if (!--left) done() };
        e[name] = base + path;
        document.body.appendChild(e);
      }
    })));
    all.push(async () => soon(new Promise(done => {
      const frame = document.createElement("iframe");
      frame.onload = () => { try { const text = frame.contentDocument.body.innerText; if (!own) read.push("frame " + base + path + " 200 " + text) } catch (e) {} done() };
      frame.src = base + path;
      document.body.appendChild(frame);
    })));
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) for (const method of ["POST", "GET"])
      all.push(async () => soon(new Promise(done => {
        const frame = document.createElement("iframe"), form = document.createElement("form"), input = document.createElement("input");
        frame.name = "f" + Math.random();
        form.method = method; form.enctype = type; form.action = base + path; form.target = frame.name;
        input.name = '{"command":["true"],"name":"forged","x":"'; input.value = '"}';
        form.appendChild(input);
        document.body.append(frame, form);
        frame.onload = () => done();
        form.submit();
      })));
    all.push(async () => navigator.sendBeacon(base + path, body));
    all.push(async () => soon(new Promise(done => {
      const stream = new EventSource(base + path, {withCredentials: true});
      stream.onopen = () => { read.push("stream " + base + path + " 200 open"); stream.close(); done() };
      stream.onerror = () => { stream.close(); done() };
    })));
    all.push(async () => soon(new Promise(done => {
      const socket = new WebSocket(base.replace("http", "ws") + path);
      socket.onopen = () => { read.push("socket " + base + path + " 200 open"); socket.close(); done() };
      socket.onerror = () => done();
    })));
  }
  const worker = async () => { while (all.length) await all.pop()() };
  await Promise.all(Array.from({length: 16}, worker));
  return read;
}`

// farm is a farm on loopback as it comes.
type farm struct {
	t                *testing.T
	qb, state, url   string
	port, adminToken string
	args, env        []string
	process          *exec.Cmd
}

// built is the path of qb, which is built once for all tests and lies where every user may run it.
func built(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	buildDir string
	build    = sync.OnceValues(func() (string, error) {
		cmd := exec.Command("go", "build", "-o", buildDir+"/", "./cmd/qb", "./cmd/qb-bench")
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
		return filepath.Join(buildDir, "qb"), nil
	})
)

// TestMain makes the folder for what is built, and takes it away.
func TestMain(m *testing.M) {
	var err error
	if buildDir, err = os.MkdirTemp("", "qb-built-"); err != nil || os.Chmod(buildDir, 0o755) != nil {
		panic(fmt.Sprint("a folder for qb: ", err))
	}
	code := m.Run()
	_ = os.RemoveAll(buildDir) // a folder for temporary files
	os.Exit(code)
}

func startFarm(t *testing.T, slots string, args ...string) *farm {
	t.Helper()
	f := newFarm(t, append([]string{"-slots", slots}, args...)...)
	f.start("127.0.0.1:0")
	f.adminToken = f.run("admin", "token", "create", "-user", "root", "-role", "admin")
	f.run("sub", "-name", canary, "-status", "blocked", "true")
	return f
}

// newFarm is a farm that is not started yet.
func newFarm(t *testing.T, args ...string) *farm {
	t.Helper()
	dir, err := os.MkdirTemp("", "qb-browser-")
	if err != nil || os.Chmod(dir, 0o711) != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	f := &farm{t: t, qb: built(t), state: filepath.Join(dir, "farm")}
	f.args, f.env = append([]string{"farm"}, args...), []string{"QB_WORKER_NAME=h"}
	t.Cleanup(func() { f.end(syscall.SIGTERM) })
	return f
}

// start starts it, and again after its end, and waits until it leads.
func (f *farm) start(listen string) {
	f.t.Helper()
	line, err := bufio.NewReader(f.launch(listen)).ReadString('\n')
	if f.url = strings.TrimSpace(strings.TrimPrefix(line, "ready ")); err != nil || !strings.HasPrefix(line, "ready ") {
		f.t.Fatalf("the farm says %q, %v", line, err)
	}
	f.port = f.url[strings.LastIndex(f.url, ":")+1:]
}

// launch starts it and has what it prints.
func (f *farm) launch(listen string) io.Reader {
	f.t.Helper()
	cmd := exec.Command(f.qb, append(f.args, "-state", f.state, "-listen", listen)...)
	cmd.Env = append(append(os.Environ(), "QB_CONF="+os.DevNull), f.env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	f.process = cmd
	return out
}

// end ends it and waits for that.
func (f *farm) end(how syscall.Signal) {
	if f.process != nil {
		_ = f.process.Process.Signal(how) // it may have ended
		_ = f.process.Wait()
		f.process = nil
	}
}

func (f *farm) run(args ...string) string {
	f.t.Helper()
	return strings.TrimSpace(string(f.output(args...)))
}

// output is what a command prints.
func (f *farm) output(args ...string) []byte {
	f.t.Helper()
	cmd := exec.Command(f.qb, args...)
	cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+f.state)
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("qb %v: %v %s", args, err, out)
	}
	return out
}

// changed is what requests may change: the rows of all changes, and the jobs.
func (f *farm) changed() string {
	f.t.Helper()
	var rows []struct {
		ID      int64
		Verb    string
		Outcome string
	}
	if err := json.Unmarshal([]byte(f.run("admin", "audit", "log", "-json")), &rows); err != nil {
		f.t.Fatal(err)
	}
	var done []string
	for _, row := range rows {
		if row.Outcome == "done" {
			done = append(done, fmt.Sprint(row.ID, row.Verb))
		}
	}
	return strings.Join(done, " ") + f.run("jobs", "-user", "all", "-no-headers", "-fields", "id,name,status,priority")
}

// refusals is how many requests were refused as foreign.
func (f *farm) refusals() (n int) {
	req, err := http.NewRequest(http.MethodGet, f.url+"/metrics", nil)
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+f.adminToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		var count int
		if line := lines.Text(); strings.HasPrefix(line, "qb_http_requests_total") && strings.Contains(line, `code="403"`) {
			fmt.Sscan(line[strings.LastIndex(line, " "):], &count)
			n += count
		}
	}
	return n
}

// TestForeignPagesInABrowser: a page of another site, one of another port, and one whose name was bound to loopback after it was
// loaded try every method and every kind of request that a browser sends.
func TestForeignPagesInABrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("there is no chromium; tools/deps chromium installs it")
	}
	f := startFarm(t, "1")
	before := f.changed()
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><body></body>")
	}))
	defer evil.Close()
	evilPort := evil.URL[strings.LastIndex(evil.URL, ":")+1:]
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1"), chromedp.Flag("disable-features", "LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests"))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, 8*time.Minute)
	defer cancel()
	bases, err := json.Marshal([]string{f.url, "http://evil.example:" + f.port})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, at string
		own      bool // the page has the origin of its requests: it reads the refusals
	}{
		{"another site", "http://evil.example:" + evilPort, false}, {"another port", "http://127.0.0.1:" + evilPort, false},
		{"a rebound name", "http://evil.example:" + f.port + "/healthz", true},
	} {
		targets := string(bases)
		if c.own {
			targets = `["http://evil.example:` + f.port + `"]`
		}
		refused, began := f.refusals(), time.Now()
		call := fmt.Sprintf("%s\nattack(%s, %q, %v)", page, targets, f.adminToken, c.own)
		_, err := chromedp.Run(ctx, chromedp.Navigate(c.at))
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		read, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](call, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		arrived := f.refusals() - refused
		t.Logf("a page of %s: %d requests were refused in %s, it read %d answers", c.what, arrived, time.Since(began).Round(time.Second), len(read))
		if arrived < 100 || c.own && len(read) < 100 {
			t.Errorf("a page of %s: only %d requests came to the farm", c.what, arrived)
		}
		for _, answer := range read {
			words := strings.SplitN(answer, " ", 4)
			if !c.own || words[2] != "403" || strings.Contains(answer, canary) {
				t.Errorf("a page of %s reads %.200s", c.what, answer)
			}
		}
	}
	if after := f.changed(); after != before {
		t.Errorf("the farm was changed from\n%s\nto\n%s", before, after)
	}
}
