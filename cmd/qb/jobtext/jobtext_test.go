package jobtext_test

import (
	"testing"
	"time"

	"qb/api"
	"qb/cmd/qb/jobtext"
)

// TestRecent: what has not ended, or ended within a day.
func TestRecent(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for age, want := range map[time.Duration]bool{0: true, 23 * time.Hour: true, 24 * time.Hour: false, 999 * time.Hour: false} {
		end := now.Add(-age)
		if j := (api.Job{Status: "killed", FinishedAt: &end}); jobtext.Recent(&j, now) != want {
			t.Errorf("ended %s ago: want %t", age, want)
		}
	}
	if j := (api.Job{Status: "blocked"}); !jobtext.Recent(&j, now) {
		t.Error("a blocked job is not shown")
	}
}

// TestShown: the line below the table.
func TestShown(t *testing.T) {
	for _, tc := range []struct {
		shown, total int
		user         string
		states       []string
		want         string
	}{
		{40, 1212, "ann", nil, "showing 40 of 1,212; -all"},
		{40, 40, "ann", nil, ""},
		{0, 0, "ann", nil, "no jobs of ann; -user all shows everybody's"},
		{0, 0, "ann", []string{"failed", "killed"}, "no failed or killed jobs of ann; -user all shows everybody's"},
		{0, 0, "", nil, "no jobs"},
		{0, 1_234_567, "ann", nil, "none of the 1,234,567 jobs of ann is unfinished or ended within a day; -all shows them"},
	} {
		if got := jobtext.Shown(tc.shown, tc.total, tc.user, tc.states); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

// TestUnaffected: what the job is, and what the action needs.
func TestUnaffected(t *testing.T) {
	j := &api.Job{ID: 74, Status: "running"}
	if got := jobtext.Unaffected("unblock", "74", j); got != "job 74 is running; unblock needs a blocked job or blocked items" {
		t.Errorf("%q", got)
	}
	ending := &api.Job{ID: 74, Status: "running", Instances: api.InstanceCounts{Draining: 2}}
	if got := jobtext.Unaffected("kill", "74", ending); got != "job 74 is being stopped already; kill changes nothing more" {
		t.Errorf("%q", got)
	}
	if got := jobtext.Unaffected("retry", "74:5-9", j); got != "74:5-9: job 74 is running; retry needs failed or killed items (qbredo runs complete ones again)" {
		t.Errorf("%q", got)
	}
}
