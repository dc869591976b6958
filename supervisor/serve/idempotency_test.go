package serve

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"qb/api"
)

// keyed sends a change under a key and returns the status and the answer.
func (r *rig) keyed(method, path, token, key, body string) (int, string) {
	r.t.Helper()
	resp := r.raw(method, path, token, body, http.Header{"Idempotency-Key": {key}})
	return resp.StatusCode, text(r.t, resp)
}

const tenPoints = `{"user":"ada","amount":10,"source":"a paper"}`

func (r *rig) credits(token string) []api.Credit {
	r.t.Helper()
	return decode[[]api.Credit](r.t, text(r.t, r.raw("GET", "/v1/credits", token, "", nil)))
}

// TestKeyGivenTwice: a request with two Idempotency-Key or If-Match headers is ambiguous and is refused.
func TestKeyGivenTwice(t *testing.T) {
	r := startRig(t)
	token := r.token("u1", api.User)
	for _, name := range []string{"Idempotency-Key", "If-Match"} {
		resp := r.raw("POST", "/v1/jobs", token, `{"command":["x"],"range":"1-3"}`, http.Header{name: {"1", "2"}})
		if answer := text(t, resp); resp.StatusCode != http.StatusUnprocessableEntity ||
			!strings.Contains(answer, name+": it is given 2 times") {
			t.Errorf("%s: %d %s", name, resp.StatusCode, answer)
		}
	}
	if jobs := must[[]api.Job](t, r.client("u1", api.User), api.ListJobs, nil, nil); len(jobs) != 0 {
		t.Errorf("jobs %+v", jobs)
	}
}

// TestAnswersOutliveTheTerm: every kind of change that takes a key hears in the next term what it heard in this one,
// and has happened once; the same key with another request is a conflict.
func TestAnswersOutliveTheTerm(t *testing.T) {
	r := startRig(t)
	worker, admin, u1 := r.agent("h1", 1), r.token("root", api.Admin), r.token("u1", api.User)
	worker.beat(0)
	changes := []struct{ method, path, token, body, other string }{
		{"POST", "/v1/jobs", u1, `{"command":["x"],"range":"1-4","retrywork":1}`, `{"command":["y"]}`},
		{"PATCH", "/v1/jobs/1", u1, `{"priority":5000}`, `{"priority":5001}`},
		{"POST", "/v1/jobs/1/orders/kill", u1, `{"items":"4"}`, `{"items":"3"}`},
		{"POST", "/v1/hosts/h1/lock", admin, "", "another path"},
		{"POST", "/v1/share-settings", admin, `{"path":"ada","shares":3}`, `{"path":"ada","shares":4}`},
		{"POST", "/v1/credits", admin, tenPoints, `{"user":"ada","amount":11,"source":"a paper"}`},
	}
	first := make([]string, len(changes))
	for n, c := range changes {
		status, answer := r.keyed(c.method, c.path, c.token, "key"+c.path, c.body)
		if status >= 300 {
			t.Fatalf("%s: %d %s", c.path, status, answer)
		}
		first[n] = answer
	}
	for range 2 {
		r.endTerm()
		for n, c := range changes {
			if status, answer := r.keyed(c.method, c.path, c.token, "key"+c.path, c.body); status >= 300 || answer != first[n] {
				t.Errorf("%s, repeated: %d %s; was %s", c.path, status, answer, first[n])
			}
			path, body := c.path, c.other
			if c.body == "" {
				path, body = "/v1/hosts/h1/unlock", ""
			}
			if status, answer := r.keyed(c.method, path, c.token, "key"+c.path, body); status != http.StatusConflict {
				t.Errorf("%s, another request: %d %s", c.path, status, answer)
			}
		}
	}
	if got := r.credits(admin); len(got) != 1 {
		t.Errorf("credit %+v", got)
	}
	if job := must[api.Job](t, r.client("u1", api.User), api.GetJob, params("job", 1), nil); job.Version != 3 ||
		job.Items.Killed != 1 {
		t.Errorf("the job is %+v", job)
	}
	if status, _ := r.keyed("POST", "/v1/credits", r.token("other", api.Admin), "key/v1/credits",
		strings.Replace(tenPoints, "a paper", "another paper", 1)); status >= 300 || len(r.credits(admin)) != 2 {
		t.Errorf("the key of another user: %d, credit %+v", status, r.credits(admin))
	}
}

// TestUnclearCommitOfAKey: the supervisor got no answer to the commit of a keyed change; the repeated call returns its
// outcome.
func TestUnclearCommitOfAKey(t *testing.T) {
	for _, times := range []string{"durable", "not durable"} {
		r := startRig(t)
		admin, fault := r.token("root", api.Admin), &r.store.failCommit
		if times == "durable" {
			fault = &r.store.loseAnswer
		}
		fault.Store(true)
		if status, answer := r.keyed("POST", "/v1/credits", admin, "k", tenPoints); status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", times, status, answer)
		}
		fault.Store(false)
		eventually(t, "the next term", func() bool { return healthy(r) })
		for range 2 {
			if status, answer := r.keyed("POST", "/v1/credits", admin, "k", tenPoints); status >= 300 ||
				!strings.Contains(answer, "a paper") {
				t.Errorf("%s: %d %s", times, status, answer)
			}
		}
		if got := r.credits(admin); len(got) != 1 {
			t.Errorf("%s: credit %+v", times, got)
		}
	}
}

// TestSenderLeaves: a caller that disconnects and repeats the call while the first is still running gets the answer of
// the first.
func TestSenderLeaves(t *testing.T) {
	r := startRig(t)
	admin := r.token("root", api.Admin)
	hold := make(chan struct{})
	r.store.holdCommit.Store(&hold)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", r.url+"/v1/credits", strings.NewReader(tenPoints))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Idempotency-Key": {"k"}, "Authorization": {"Bearer " + admin},
		"Content-Type": {"application/json"}}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
		t.Fatalf("answered while the commit hung: %d", resp.StatusCode)
	}
	answered := make(chan string, 2)
	for range 2 {
		go func() {
			status, answer := r.keyed("POST", "/v1/credits", admin, "k", tenPoints)
			answered <- http.StatusText(status) + answer
		}()
	}
	time.Sleep(50 * time.Millisecond) // so that one of them is likely to wait for the first
	r.store.holdCommit.Store(nil)
	close(hold)
	if one, two := <-answered, <-answered; one != two || !strings.HasPrefix(one, "OK{") {
		t.Errorf("heard %s and %s", one, two)
	}
	if got := r.credits(admin); len(got) != 1 {
		t.Errorf("credit %+v", got)
	}
}

// TestAnswersOfAnotherSupervisor: two supervisors on one Postgres; what one answered the other repeats.
func TestAnswersOfAnotherSupervisor(t *testing.T) {
	t.Parallel()
	url := startCluster(t).URL()
	one := startOn(t, url)
	admin := one.token("root", api.Admin)
	status, first := one.keyed("POST", "/v1/credits", admin, "k", tenPoints)
	if status >= 300 {
		t.Fatalf("%d %s", status, first)
	}
	two := startOn(t, url, asStandby)
	if status, answer := two.keyed("POST", "/v1/credits", admin, "k", tenPoints); status != http.StatusServiceUnavailable {
		t.Errorf("the standby answered %d %s", status, answer)
	}
	if err := one.stop(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other leads", func() bool { return healthy(two) })
	for range 2 {
		if status, answer := two.keyed("POST", "/v1/credits", admin, "k", tenPoints); status >= 300 || answer != first {
			t.Errorf("repeated: %d %s; was %s", status, answer, first)
		}
	}
	if got := two.credits(admin); len(got) != 1 {
		t.Errorf("credit %+v", got)
	}
}
