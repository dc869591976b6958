package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/lead/term"
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
		"total=true": "5", "total=true&limit=2": "5", "total=true&limit=2&before=2": "5", "total=true&name=n0": "3",
		"limit=2": "", "total=true&name=none": "0",
		"total=true&status=pending": "3", "total=true&status=blocked": "1", "total=true&status=active": "4",
		"total=true&status=done": "1", "total=true&ids=1,2,9": "2",
		"total=true&finished_since=2999-01-01T00:00:00Z": "4", "total=true&finished_since=2001-01-01T00:00:00Z": "5",
	} {
		resp := r.raw("GET", "/v1/jobs?"+query, token, "", nil)
		text(t, resp)
		if got := resp.Header.Get("Total-Count"); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	link := r.raw("GET", "/v1/jobs?total=true&limit=2&finished_since=2001-01-01T00:00:00Z",
		token, "", nil).Header.Get("Link")
	if want := `</v1/jobs?before=4&finished_since=2001-01-01T00%3A00%3A00Z&limit=2&total=true>; rel="next"`; link != want {
		t.Errorf("the next page is %s", link)
	}
}

// TestExpression: a list takes the jobs for which an expression holds, over pages, counted, and an order on many does,
// too.
func TestExpression(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c, token := r.client("u1", api.User), r.token("u1", api.User)
	for n := range 6 {
		must[api.SubmitReply](t, c, api.Submit, nil,
			api.SubmitRequest{Name: fmt.Sprintf("shot_%03d_comp", n), Priority: new(100 + n), CPUs: new(1 + n%2),
				Command: []string{"x"}})
	}
	must[api.ActionReply](t, c, api.OrderJob, params("job", 1, "action", "kill"), nil)
	list := func(query, expression string) (ids []int64, total string) {
		resp := r.raw("GET", "/v1/jobs?"+query+"&expression="+url.QueryEscape(expression), token, "", nil)
		var jobs []api.Job
		if err := json.Unmarshal([]byte(text(t, resp)), &jobs); err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			ids = append(ids, j.ID)
		}
		return ids, resp.Header.Get("Total-Count")
	}
	for expression, want := range map[string][]int64{
		"priority <= 101":                             {2, 1},
		"priority <= 101 && status = killed":          {1},
		"name = *003_comp or name = ~_005_":           {6, 4},
		"cpus = 2 and status = pending":               {6, 4, 2},
		`user in "u1,u2" and not (id < 5)`:            {6, 5},
		"user = u2":                                   nil,
		`prod_show = "" and flags has x`:              nil,
		`type = cmdline and id in "3,4" and pgrp = 3`: {3},
	} {
		if got, total := list("total=true&limit=10", expression); !slices.Equal(got, want) ||
			total != strconv.Itoa(len(want)) {
			t.Errorf("%s: %v, counted %s; want %v", expression, got, total, want)
		}
	}
	if got, _ := list("limit=2", "cpus = 2"); !slices.Equal(got, []int64{6, 4}) {
		t.Errorf("the first page is %v", got)
	}
	if got, _ := list("limit=2&before=4", "cpus = 2"); !slices.Equal(got, []int64{2}) {
		t.Errorf("the second page is %v", got)
	}
	resp := r.raw("GET", "/v1/jobs?expression="+url.QueryEscape("cpus = 2 and prioritie < 3"), token, "", nil)
	if body := text(t, resp); resp.StatusCode != 422 || !strings.Contains(body, "column 14") ||
		!strings.Contains(body, "did you mean priority?") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	reply := must[api.ManyReply](t, c, api.OrderJobs, params("action", "block"),
		api.ManyJobs{Filter: &api.JobFilter{Expression: "cpus = 2"}})
	if len(reply.Results) != 3 {
		t.Errorf("%d jobs were blocked, want 3", len(reply.Results))
	}
}

// TestTagsWithCommas: a value may have commas.
func TestTagsWithCommas(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c := r.client("u1", api.User)
	for _, show := range []string{"heron, the movie", "heron"} {
		must[api.SubmitReply](t, c, api.Submit, nil,
			api.SubmitRequest{Command: []string{"x"}, Tags: map[string]string{"prod_show": show, "prod_seq": "1,2"}})
	}
	for tags, want := range map[string]string{"prod_show=heron, the movie": "[1]", "prod_show=heron": "[2]",
		"prod_seq=1,2,prod_show=heron, the movie": "[1]", "prod_seq=1,2": "[2 1]", "prod_seq=1": "[]"} {
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

// TestChangedSince: who asks each time with what the last answer said hears of every change, and of a quiet farm
// nothing.
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
			if err := c.Call(t.Context(), api.Modify, params("job", 1+n%2),
				api.ModifyRequest{Priority: ptr(5000 + n)}, nil); err != nil {
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

// TestSortedLists: jobs and hosts come in the order asked for, page by page along the header Link, with the members
// asked for; what there is not is named.
func TestSortedLists(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c, token := r.client("u1", api.User), r.token("u1", api.User)
	for n, slots := range []int{4, 16, 8} {
		r.agent(fmt.Sprint("h", n+1), slots).beat(0)
	}
	for n, name := range []string{"b", "a", "c", "a", "b"} {
		must[api.SubmitReply](t, c, api.Submit, nil,
			api.SubmitRequest{Name: name, Priority: new(100 + n%2), Command: []string{"x"}, Range: fmt.Sprintf("1-%d", 9-n),
				Status: "blocked"})
	}
	must[api.ActionReply](t, c, api.OrderJob, params("job", 2, "action", "kill"), nil)
	must[api.ActionReply](t, c, api.OrderJob, params("job", 3, "action", "kill"), api.ActionRequest{Items: "1-2"})
	pages := func(path string) (bodies []string) {
		for path != "" {
			resp := r.raw("GET", path, token, "", nil)
			bodies = append(bodies, strings.TrimSpace(text(t, resp)))
			path, _, _ = strings.Cut(strings.TrimPrefix(resp.Header.Get("Link"), "<"), ">")
		}
		return bodies
	}
	eventually(t, "three hosts", func() bool { return len(must[[]api.Host](t, c, api.ListHosts, nil, nil)) == 3 })
	for path, want := range map[string]string{
		"/v1/jobs?fields=id&sort=-priority,name":                                               `[[{"id":4},{"id":2},{"id":5},{"id":1},{"id":3}]]`,
		"/v1/jobs?fields=id,name&sort=name,-id&limit=2":                                        `[[{"id":4,"name":"a"},{"id":2,"name":"a"}] [{"id":5,"name":"b"},{"id":1,"name":"b"}] [{"id":3,"name":"c"}]]`,
		"/v1/jobs?fields=id&sort=-items.killed&limit=3":                                        `[[{"id":2},{"id":3},{"id":5}] [{"id":4},{"id":1}]]`,
		"/v1/jobs?fields=id&sort=-finished_at,submitted_at&limit=3":                            `[[{"id":2},{"id":1},{"id":3}] [{"id":4},{"id":5}]]`,
		"/v1/jobs?fields=id&expression=items.killed+>+0":                                       `[[{"id":3},{"id":2}]]`,
		"/v1/jobs?fields=id&sort=items.total&expression=not+items.killed+>+2&limit=2":          `[[{"id":5},{"id":4}] [{"id":3},{"id":1}]]`,
		"/v1/jobs?fields=id&sort=name&status=killed":                                           `[[{"id":2}]]`,
		"/v1/jobs?fields=id&sort=name&user=nobody":                                             `[[]]`,
		"/v1/hosts?fields=name&sort=-processors&limit=2":                                       `[[{"name":"h2"},{"name":"h3"}] [{"name":"h1"}]]`,
		"/v1/hosts?fields=name,slots&limit=1&expression=host.processors+%3C+9+and+not+name=h3": `[[{"name":"h1","slots":{"total":4,"used":0,"foreign":0}}]]`,
		"/v1/hosts?fields=name&limit=1":                                                        `[[{"name":"h1"}] [{"name":"h2"}] [{"name":"h3"}]]`,
	} {
		if got := fmt.Sprint(pages(strings.ReplaceAll(path, ">", "%3E"))); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for path, want := range map[string]string{
		"/v1/jobs?sort=priority,sze": `sort: column 10: there is no field \"sze\"; there are id, name,`,
		"/v1/jobs?fields=id,nam":     `entry 2: there is no member \"nam\"; there are id, name,`,
		"/v1/jobs?sort=id&after=x":   "is no place in a list", "/v1/jobs?after=x": "there is none",
		"/v1/jobs?sort=id&before=4":    "go on with after",
		"/v1/hosts?sort=wings":         `column 1: there is no field \"wings\"`,
		"/v1/hosts?fields=wings":       "there are name, state",
		"/v1/hosts?expression=wings=2": "column 1",
	} {
		resp := r.raw("GET", path, token, "", nil)
		if body := text(t, resp); resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %s", path, resp.StatusCode, body, want)
		}
	}
}

// TestListedHostsAreWhole: a list shows each host as it is shown alone, in every order.
func TestListedHostsAreWhole(t *testing.T) {
	s := newTestServer(t)
	view := &message.View{At: time.Now(), Hosts: busyHosts(30, time.Now())}
	view.Hosts[3].Remark, view.Hosts[3].Code = "drains", facts.ReasonAwaitsApproval
	view.Hosts[4].Claims = []agents.Claim{{Name: "rn00004", Code: "other-key", Text: "claims"}}
	view.Hosts[5].Avoided = []fit.Avoidance{{User: "ann", Text: "refused"}}
	s.view.Store(term.NewPicture(view))
	for sort, first := range map[string]string{"": "rn00000", "-name": "rn00029", "-memory.avail,name": "rn00029",
		"gpus,-name": "rn00027"} {
		list, err := s.hosts.listHosts(t.Context(), &listHostsIn{ListQuery: ListQuery{Sort: sort}})
		if err != nil || len(list.Body) != 30 || list.Body[0].Name != first {
			t.Fatalf("%q: %d hosts, %v, the first is %v; want %s", sort, len(list.Body), err, list.Body[0].Name, first)
		}
		for _, h := range list.Body {
			alone, err := s.hosts.getHost(t.Context(), &getHostIn{Host: h.Name})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(alone.Body, h) || len(h.Instances) != 16 {
				t.Errorf("%q shows %+v, alone %+v", sort, h, alone.Body)
			}
		}
	}
}
