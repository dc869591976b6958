package browser_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// ask sends a request as an admin and has the answer; what is refused begins with its status.
func (f *farm) ask(method, path, body string) string {
	f.t.Helper()
	req, err := http.NewRequest(method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+f.adminToken)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", strconv.FormatInt(keys.Add(1), 10))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		return fmt.Sprint(resp.Status, " ", err, " ", string(text))
	}
	return string(text)
}

var keys atomic.Int64

// largeFarm has simulated hosts of 16 slots and many jobs that run on five of them each, and one of 100,000 items.
func largeFarm(t *testing.T, hosts, jobs int, duration string) (*farm, string) {
	t.Helper()
	f := newFarm(t, "-hosts", "0")
	f.env = append(f.env, "QB_SUPERVISOR_USER_SUBMISSIONS=0", "QB_SUPERVISOR_USER_JOBS=0", "QB_SUPERVISOR_TOKEN_STREAMS=0")
	f.start("127.0.0.1:0")
	f.adminToken = f.run("admin", "token", "create", "-user", "root", "-role", "admin")
	var made struct{ Job int64 }
	if text := f.ask(http.MethodPost, "/v1/jobs", `{"name": "crowd_100k", "command": ["true"], "range": "1-100000", "cpus": 1, "max_cpus": 200}`); json.Unmarshal([]byte(text), &made) != nil {
		t.Fatal(text)
	}
	var all sync.WaitGroup
	work := make(chan int)
	for range 8 {
		all.Go(func() {
			for n := range work {
				body := fmt.Sprintf(`{"name": "seq%02d_sh%04d_beauty_v001", "command": ["true"], "range": "1-10000", "cpus": 1, "max_cpus": 5, "priority": %d}`, n%40, n, 100+n)
				if text := f.ask(http.MethodPost, "/v1/jobs", body); !strings.Contains(text, `"job"`) {
					t.Error(text)
				}
			}
		})
	}
	for n := range jobs {
		work <- n
	}
	close(work)
	all.Wait()
	token, err := os.ReadFile(f.state + "/worker.token")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(buildDir, "qb-bench"), "hosts", "-url", f.url, "-hosts", strconv.Itoa(hosts), "-slots", "16", "-duration", duration)
	cmd.Env = append(os.Environ(), "QB_TOKEN="+strings.TrimSpace(string(token)))
	var report bytes.Buffer
	cmd.Stdout, cmd.Stderr = &report, os.Stderr
	stop, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stop.Close() // ends them
		_ = cmd.Wait()
	})
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(time.Second) {
		var known struct{ Hosts []string } // on a busy machine some are silent at times
		if err := json.Unmarshal([]byte(f.ask(http.MethodGet, "/v1/slots", "")), &known); err == nil && len(known.Hosts) == hosts {
			return f, strconv.FormatInt(made.Job, 10)
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d hosts have come", len(known.Hosts), hosts)
		}
	}
}

// TestSizeOfPage: with 10,000 hosts, 1,000 jobs that run and one of 100,000 items no view has many elements, and lists ask for nothing.
func TestSizeOfPage(t *testing.T) {
	const most = 1500
	f, large := largeFarm(t, 10_000, 1000, "10h")
	b := openTab(t, f)
	b.logIn(t)
	counts := map[string]int{}
	for _, v := range []struct{ address, shows string }{
		{"#/", "Slots in use"}, {"#/jobs", "1,001 of 1,001"}, {"#/hosts", "10,000 of 10,000"}, {"#/slots", "others"}, {"#/slots?host=sim-7", "sim-7"}, {"#/jobs/" + large, "pending"}, {"#/jobs/" + large + "?by=host", "Legend"}, {"#/what-if", "Try a change"}, {"#/fairshare", "Who is served"},
	} {
		b.goTo(t, v.address)
		if v.shows == "Legend" {
			b.until(t, v.shows, `document.querySelector("[aria-label=Legend]") !== null`)
		} else {
			b.see(t, v.shows)
		}
		time.Sleep(2 * time.Second) // what comes after the first sight
		if counts[v.address] = js[int](t, b, `document.querySelectorAll("*").length`); counts[v.address] > most {
			t.Errorf("%s has %d elements, more than %d", v.address, counts[v.address], most)
		}
		b.picture(t, "size"+strings.NewReplacer("#", "", "/", "-", "?", "-", "=", "-").Replace(v.address))
	}
	t.Logf("elements: %v", counts)
	b.goTo(t, "#/jobs")
	b.see(t, "1,001 of 1,001")
	time.Sleep(time.Second)
	if n := b.requestsIn(6 * time.Second); n > 3 {
		t.Errorf("the list of jobs makes %d requests by itself", n)
	}
	t.Logf("heap of the page: %d MB", js[int](t, b, `performance.memory.usedJSHeapSize`)>>20)
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// quantile is one of values in milliseconds.
func quantile(values []float64, q float64) float64 {
	slices.Sort(values)
	return values[int(q*float64(len(values)-1))]
}
