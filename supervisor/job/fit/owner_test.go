package fit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// TestUnserved: a job that no present host runs for its user gets a remark that says why and what to change.
func TestUnserved(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	agent := fit.Host{RunAs: "agent", AgentUser: "ann"}
	owner := fit.Host{RunAs: "owner", Owners: &fit.Owners{LowestUID: 1000, LowUsers: []string{"farm"}}}
	root := fit.Host{RunAs: "owner", Owners: &fit.Owners{LowestUID: 1000, AllowRoot: true}}
	failed := fit.Host{RunAs: "owner", Refuses: map[string]fit.Refuses{"bea": {Until: now.Add(time.Minute)}}}
	account := func(uid uint32) *fit.Account { return &fit.Account{UID: uid} }
	for _, c := range []struct {
		user    string
		account *fit.Account
		hosts   []fit.Host
		want    string // "": no remark
	}{
		{"bea", account(1001), nil, ""},
		{"ann", account(1001), []fit.Host{agent}, ""},
		{"bea", account(1001), []fit.Host{agent}, `h0: the worker runs jobs of ann only, not of bea (worker_run_as = "agent"); submit as that user, or let root run the worker with worker_run_as = "owner"`},
		{"bea", account(1001), []fit.Host{agent, agent, agent, agent}, "h0, h1, h2 and 1 more: the worker runs jobs of ann only"},
		{"bea", account(1001), []fit.Host{agent, owner}, ""},
		{"bea", account(1001), []fit.Host{agent, {}}, ""},
		{"bea", account(1001), []fit.Host{failed}, "no items of bea for a while, an item could not run there"},
		{"bea", &fit.Account{Unknown: true}, []fit.Host{owner}, "there is no user bea on this machine; add the user"},
		{"bea", nil, []fit.Host{owner}, ""},
		{"bea", &fit.Account{Unknown: true}, []fit.Host{{RunAs: "owner"}}, ""},
		{"root", account(0), []fit.Host{root}, ""},
		{"root", account(0), []fit.Host{owner}, "worker_allow_root = true"},
		{"farm", account(990), []fit.Host{owner}, ""},
		{"farm", account(990), []fit.Host{root}, "farm has the uid 990, below worker_lowest_uid = 1000; list the user in its worker_low_users_file"},
	} {
		var hosts []*fit.Host
		for n := range c.hosts {
			h := c.hosts[n]
			h.ID = facts.HostID(fmt.Sprint("h", n))
			hosts = append(hosts, &h)
		}
		got := fit.Unserved(now, slices.Values(hosts), c.user, c.account)
		if c.want == "" && got != "" || c.want != "" && (!strings.HasPrefix(got, "no host runs jobs of "+c.user+", so the job waits until one does; ") || !strings.Contains(got, c.want)) {
			t.Errorf("%s on %+v: %q, want %q", c.user, c.hosts, got, c.want)
		}
	}
}

// TestUnservedIsBounded: on a farm whose hosts all differ, the remark has the first causes and how many more hosts there
// are, and the hosts that it leaves out cost no text.
func TestUnservedIsBounded(t *testing.T) {
	var hosts []*fit.Host
	for n := range 1000 {
		h := fit.Host{RunAs: "agent", AgentUser: fmt.Sprintf("u%03d", (999-n)/2)}
		h.ID = facts.HostID(fmt.Sprintf("h%03d", 999-n))
		hosts = append(hosts, &h)
	}
	got := fit.Unserved(time.Unix(1000, 0), slices.Values(hosts), "bea", nil)
	for _, want := range []string{"; h000, h001: the worker runs jobs of u000 only", "; h004, h005: the worker runs jobs of u002 only", "; 994 more hosts for other causes"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %.1000q", want, got)
		}
	}
	if strings.Contains(got, "u003") || len(got) > 1000 {
		t.Errorf("%d bytes: %.1000q", len(got), got)
	}
	for _, h := range hosts {
		h.AgentUser = "ann"
	}
	if n := testing.AllocsPerRun(10, func() { fit.Unserved(time.Unix(1000, 0), slices.Values(hosts), "bea", nil) }); n > 100 {
		t.Errorf("%.0f allocations for 1,000 hosts of one cause", n)
	}
}
