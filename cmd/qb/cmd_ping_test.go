package main

import (
	"strings"
	"testing"

	"qb/api"
)

// TestPingSaysWhatIsWrong: a supervisor that keeps up prints one line, a slow supervisor prints its lag, too.
func TestPingSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ping api.Ping
		more string // after the first line
	}{
		{api.Ping{Leader: true, Epoch: 3, LagSeconds: 0.04}, ""},
		{api.Ping{Leader: true, LagSeconds: 3.21}, "it does not keep up: the oldest report of a worker has waited for 3.2 s"},
		{api.Ping{Brake: "9 of 9 hosts are silent"}, "brake engaged: 9 of 9 hosts are silent; qbadmin brake -release ends it"},
	} {
		if lines := pingLines("http://farm", &c.ping); strings.Join(lines[1:], "\n") != c.more {
			t.Errorf("%+v: %q", c.ping, lines)
		}
	}
}
