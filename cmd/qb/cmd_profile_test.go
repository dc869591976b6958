package main

import (
	"io"
	"testing"

	"qb/api"
	"qb/cmd/qb/output"
)

// Each column shows a member of what it lists.
func TestProfileColumns(t *testing.T) {
	for _, p := range []api.Profile{{}, {By: "ann", Learned: api.Learned{Memory: 1, Seconds: 1, MemorySet: true}}, {Learned: api.Learned{SecondsSet: true}}} {
		for _, o := range []output.ListOptions{{}, {JSON: true}} {
			if err := output.Print(output.PartialOutput{Writer: io.Discard}, "", o, profileColumns, func() ([]api.Profile, error) { return []api.Profile{p}, nil }); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestProfileText(t *testing.T) {
	for _, c := range []struct {
		learned *api.Learned
		want    string
	}{
		{nil, ""},
		{&api.Learned{Memory: 3 << 30, Items: 1, Jobs: 1}, "memory 3 GiB, learned from 1 item of 1 job"},
		{&api.Learned{Seconds: 90, Items: 12, Jobs: 2}, "time 1m30s, learned from 12 items of 2 jobs"},
		{&api.Learned{Memory: 1 << 20, MemorySet: true, Seconds: 5, Items: 2, Jobs: 1}, "memory 1 MiB, set by hand; time 5.0s, learned from 2 items of 1 job"},
	} {
		if got := profileText(c.learned); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
