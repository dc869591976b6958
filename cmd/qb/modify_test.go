package main

import (
	"strings"
	"testing"

	"qb/api"
)

// What a change did is said to a person, with long values cut.
func TestChangedText(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, c := range []struct {
		changes []api.Change
		want    string
	}{
		{nil, "job 7 had these values already"},
		{[]api.Change{{Name: "groups", To: "big"}, {Name: "notes", From: "a", To: long}}, "job 7: groups was empty, is now big; notes was a, is now " + long[:80] + "…"},
		{[]api.Change{{Name: "env"}}, "job 7: env was changed"},
	} {
		if got := changedText(7, c.changes); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
