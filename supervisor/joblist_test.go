package supervisor

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"qb/api"
)

// TestTotal: a list counts all of its pages if it is asked to, whatever part of them it shows.
func TestTotal(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c, token := r.client("u1", api.User), r.token("u1", api.User)
	for n := range 5 {
		must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Name: fmt.Sprint("n", n%2), Command: []string{"x"}})
	}
	must[api.ActionReply](t, c, api.OrderJob, params("job", 1, "action", "kill"), nil)
	must[api.ActionReply](t, c, api.OrderJob, params("job", 2, "action", "block"), nil)
	for query, want := range map[string]string{
		"total=true": "5", "total=true&limit=2": "5", "total=true&limit=2&before=2": "5", "total=true&name=n0": "3", "limit=2": "", "total=true&name=none": "0",
		"total=true&status=pending": "3", "total=true&status=blocked": "1", "total=true&status=active": "4", "total=true&status=done": "1", "total=true&ids=1,2,9": "2",
		"total=true&finished_since=2999-01-01T00:00:00Z": "4", "total=true&finished_since=2001-01-01T00:00:00Z": "5",
	} {
		resp := r.raw("GET", "/v1/jobs?"+query, token, "", nil)
		text(t, resp)
		if got := resp.Header.Get("Total-Count"); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	link := r.raw("GET", "/v1/jobs?total=true&limit=2&finished_since=2001-01-01T00:00:00Z", token, "", nil).Header.Get("Link")
	if want := `</v1/jobs?before=4&finished_since=2001-01-01T00%3A00%3A00Z&limit=2&total=true>; rel="next"`; link != want {
		t.Errorf("the next page is %s", link)
	}
}

// TestTagsWithCommas: a value may have commas.
func TestTagsWithCommas(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c := r.client("u1", api.User)
	for _, show := range []string{"heron, the movie", "heron"} {
		must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Tags: map[string]string{"prod_show": show, "prod_seq": "1,2"}})
	}
	for tags, want := range map[string]string{"prod_show=heron, the movie": "[1]", "prod_show=heron": "[2]", "prod_seq=1,2,prod_show=heron, the movie": "[1]", "prod_seq=1,2": "[2 1]", "prod_seq=1": "[]"} {
		ids := []int64{}
		for _, job := range must[[]api.Job](t, c, api.ListJobs, params("tags", tags), nil) {
			ids = append(ids, job.ID)
		}
		if got := fmt.Sprint(ids); got != want {
			t.Errorf("%s lists %s, want %s", tags, got, want)
		}
	}
	refused(t, api.KindInvalid, c, api.ListJobs, params("tags", "x,prod_show=heron"), nil)
	refused(t, api.KindInvalid, c, api.ListJobs, params("tags", "prod_show=heron,show=x"), nil)
}

// TestChangedSince: who asks each time with what the last answer said hears of every change, and of a quiet farm nothing.
func TestChangedSince(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c, token := r.client("u1", api.User), r.token("u1", api.User)
	const jobs, changes = 3, 60
	for range jobs {
		must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-9"})
	}
	seen, since := map[int64]int{}, ""
	poll := func() (n int) {
		resp := r.raw("GET", "/v1/jobs?changed_since="+url.QueryEscape(since), token, "", nil)
		for _, job := range decode[[]api.Job](t, text(t, resp)) {
			seen[job.ID] = job.Priority
			n++
		}
		since = resp.Header.Get("Next-Changed-Since")
		return n
	}
	changed := make(chan error)
	go func() {
		for n := range changes {
			time.Sleep(30 * time.Millisecond)
			if err := c.Call(t.Context(), api.Modify, params("job", 1+n%2), api.ModifyRequest{Priority: ptr(5000 + n)}, nil); err != nil {
				changed <- err
				return
			}
		}
		changed <- nil
	}()
	for busy := true; busy; {
		select {
		case err := <-changed:
			if err != nil {
				t.Fatal(err)
			}
			busy = false
		case <-time.After(10 * time.Millisecond):
		}
		poll()
	}
	if seen[1] != 5000+changes-2 || seen[2] != 5000+changes-1 || len(seen) != jobs {
		t.Errorf("seen at last: %v", seen)
	}
	eventually(t, "a poll of a quiet farm lists nothing", func() bool { return poll() == 0 })
	must[api.ActionReply](t, c, api.OrderJob, params("job", 3, "action", "kill"), api.ActionRequest{Items: "2"})
	if n := poll(); n != 1 {
		t.Errorf("after an order on one job, %d are listed", n)
	}
	refused(t, api.KindInvalid, c, api.ListJobs, params("changed_since", "yesterday"), nil)
}
