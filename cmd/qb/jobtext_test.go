package main

import (
	"testing"

	"qb/api"
)

// TestShown: the line below the table.
func TestShown(t *testing.T) {
	for _, tc := range []struct {
		shown, total int
		user         string
		states       []string
		want         string
	}{
		{40, 1212, "ann", nil, "showing 40 of 1,212; -all"},
		{40, 10_000, "ann", nil, "showing 40 of 10,000 or more; -all"},
		{40, 40, "ann", nil, ""},
		{0, 0, "ann", nil, "no jobs of ann; -user all shows everybody's"},
		{0, 0, "ann", []string{"failed", "killed"}, "no failed or killed jobs of ann; -user all shows everybody's"},
		{0, 0, "", nil, "no jobs"},
		{0, 1_234_567, "ann", nil, "none of the 1,234,567 jobs of ann is unfinished or ended within a day; -all shows them"},
	} {
		if got := shownText(tc.shown, tc.total, tc.user, tc.states); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

func TestReasonOfFailedAttempts(t *testing.T) {
	for _, c := range []struct {
		attempts, failed int
		reason, want     string
	}{
		{0, 0, "", ""},
		{1, 1, "", ""},
		{3, 2, "", "1 attempt failed, its item was tried again; qbitems 7"},
		{5, 2, "", "3 attempts failed, their items were tried again; qbitems 7"},
		{5, 2, "2 items failed", "2 items failed"},
	} {
		j := api.Job{ID: 7, Reason: c.reason, FailedAttempts: c.attempts, Items: api.ItemCounts{Failed: c.failed}}
		if got := jobReason(j); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
