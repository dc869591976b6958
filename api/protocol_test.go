package api

import (
	"strings"
	"testing"
)

// A worker may be one protocol older or newer than the supervisor.
func TestCheckProtocol(t *testing.T) {
	for _, c := range []struct {
		supervisor, worker int
		code, way          string
	}{
		{5, 4, "", ""}, {5, 5, "", ""}, {5, 6, "", ""},
		{1, 1, "", ""}, {1, 2, "", ""}, {2, 1, "", ""},
		{1, 0, CodeWorkerTooOld, "takes 1 to 2: upgrade qb on that host"}, // it names none
		{2, 0, CodeWorkerTooOld, "speaks protocol 0"},
		{1, -1, CodeWorkerTooOld, "upgrade qb on that host"},
		{5, 3, CodeWorkerTooOld, "takes 4 to 6: upgrade qb on that host"},
		{5, 7, CodeWorkerTooNew, "upgrade the supervisors first"},
	} {
		err := CheckProtocol(c.supervisor, "h1", c.worker, "v1.2.0")
		if got := Refusal(err); got.Code != c.code || !strings.Contains(got.Text, c.way) || err != nil && !strings.Contains(got.Text, `"h1" (v1.2.0)`) {
			t.Errorf("supervisor %d, worker %d: %v (%s)", c.supervisor, c.worker, err, got.Code)
		}
	}
}
