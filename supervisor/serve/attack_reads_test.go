package serve

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/store/logstore"
)

// flood sends a request again and again, so many at a time, until the test ends, and counts the answers by status.
func (r *rig) flood(t *testing.T, token, path string, atOnce int) (count func(status int) int64) {
	t.Helper()
	var answers [600]atomic.Int64
	over := make(chan struct{})
	var senders sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atOnce}}
	for range atOnce {
		senders.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				req, err := http.NewRequest(http.MethodGet, r.url+path, nil)
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Authorization", "Bearer "+token)
				resp, err := client.Do(req)
				if err != nil {
					continue // the rig stops
				}
				answers[resp.StatusCode].Add(1)
				if resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") == "" {
					t.Error("a refusal without Retry-After")
				}
				resp.Body.Close()
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	t.Cleanup(func() {
		close(over)
		senders.Wait()
		client.CloseIdleConnections()
	})
	return func(status int) int64 { return answers[status].Load() }
}

// meanwhile does what another wants during a flood: it is done before the flood got so many answers. In seconds it
// would measure the machine.
func meanwhile(t *testing.T, what string, count func(status int) int64, most int64, do func()) {
	t.Helper()
	before := count(http.StatusOK)
	do()
	if got := count(http.StatusOK) - before; got > most {
		t.Errorf("%s had to wait for %d answers to the flood, want at most %d", what, got, most)
	}
}

// TestAttackHeavyReads: one user who asks for the states of a large job, forty times at once, is answered twice at a
// time; others submit and read meanwhile, and operators too.
func TestAttackHeavyReads(t *testing.T) {
	r := startRig(t)
	mallory, ann, boss := r.client("mallory", api.User), r.client("ann", api.User), r.client("boss", api.Operator)
	job := must[api.SubmitReply](t, mallory, api.Submit, nil,
		api.SubmitRequest{Command: []string{"true"}, Range: "1-300000", Status: "blocked"}).Job
	path := fmt.Sprintf("/v1/jobs/%d/states", job)
	count := r.flood(t, r.token("mallory", api.User), path, 40)
	eventually(t, "calls are refused", func() bool { return count(http.StatusTooManyRequests) > 40 })
	for range 5 {
		meanwhile(t, "another user's submission", count, 500, func() {
			must[api.SubmitReply](t, ann, api.Submit, nil, api.SubmitRequest{Command: []string{"true"}, Status: "blocked"})
		})
		for _, c := range []*api.Client{ann, boss} {
			meanwhile(t, "another's reading", count, 500, func() {
				if got := must[api.ItemStatesReply](t, c, api.ItemStates, params("job", job), nil); len(got.States) != 300000 {
					t.Errorf("%d states", len(got.States))
				}
			})
		}
	}
	if count(http.StatusOK) == 0 {
		t.Error("the flooding user gets no answer at all")
	}
}

// TestStatesAreKept: what was read of a job is kept until a row of it changes, and shows the change then.
func TestStatesAreKept(t *testing.T) {
	r := startRig(t)
	c := r.client("ann", api.User)
	job := must[api.SubmitReply](t, c, api.Submit, nil,
		api.SubmitRequest{Command: []string{"true"}, Range: "1-3", Status: "blocked"}).Job
	for _, step := range []struct{ action, items, want string }{{"", "", "bbb"}, {"unblock", "", "ppp"},
		{"kill", "2", "pkp"}, {"kill", "", "kkk"}} {
		if step.action != "" {
			must[api.ActionReply](t, c, api.OrderJob, params("job", job, "action", step.action),
				api.ActionRequest{Items: step.items})
		}
		for range 2 {
			if got := must[api.ItemStatesReply](t, c, api.ItemStates, params("job", job), nil).States; got != step.want {
				t.Errorf("after %q: %s, want %s", step.action, got, step.want)
			}
		}
	}
}

// TestAttackSearches: sixty searches of a large log at once by one user do not delay other users' searches.
func TestAttackSearches(t *testing.T) {
	r := startRig(t)
	mallory, ann := r.client("mallory", api.User), r.client("ann", api.User)
	large := must[api.SubmitReply](t, mallory, api.Submit, nil,
		api.SubmitRequest{Command: []string{"true"}, Range: "1-2"}).Job
	small := must[api.SubmitReply](t, ann, api.Submit, nil, api.SubmitRequest{Command: []string{"true"}, Range: "1-2"}).Job
	worker := r.agent("h1", 2)
	worker.until("both jobs run", func() bool { return len(worker.running) == 2 })
	for job, mega := range map[int64]int{large: 100, small: 0} {
		file := filepath.Join(r.state, "logs", logstore.Name(facts.AttemptID{Job: facts.JobID(job), Item: 0, Number: 1}))
		megabyte := append([]byte{1, 0, 16, 0, 0}, strings.Repeat(strings.Repeat("x", 63)+"\n", 1<<14)...)
		data := []byte(strings.Repeat(string(megabyte), mega))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	count := r.flood(t, r.token("mallory", api.User), fmt.Sprintf("/v1/jobs/%d/items/1/log/find?text=needle", large), 60)
	eventually(t, "calls are refused", func() bool { return count(http.StatusTooManyRequests) > 60 })
	for range 3 {
		meanwhile(t, "another user's search", count, 30, func() {
			must[api.LogMatches](t, ann, api.FindInLog, params("job", small, "item", "1", "text", "needle"), nil)
		})
	}
}
