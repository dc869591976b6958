package main

import (
	"io"
	"testing"
	"time"

	"qb/api"
	"qb/cmd/qb/output"
)

// Each column shows a member of what it lists.
func TestResourceColumns(t *testing.T) {
	for _, r := range []api.Resource{{}, {Total: new(int64), LoweredTo: new(int64), LoweredUntil: &time.Time{}}, {Stale: true, ReportedAt: &time.Time{}}, {Held: 2}} {
		for _, o := range []output.ListOptions{{}, {JSON: true}} {
			if err := output.Print(output.PartialOutput{Writer: io.Discard}, "", o, resourceColumns, func() ([]api.Resource, error) { return []api.Resource{r}, nil }); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestResourceNote(t *testing.T) {
	for _, c := range []struct {
		row  api.Resource
		want string
	}{
		{api.Resource{Held: 3, Allowed: 3}, ""},
		{api.Resource{Held: 5, Allowed: 3}, "2 more than free; they go at the end of their items"},
	} {
		if got := resourceNote(c.row); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
