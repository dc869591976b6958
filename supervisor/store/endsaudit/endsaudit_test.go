package endsaudit

import (
	"strconv"
	"testing"
	"time"

	"qb/api"
)

// TestEndsAreAskedForInTurns: no more hosts ship at a time than the supervisor has room for, and none of them holds the
// others up for good.
func TestEndsAreAskedForInTurns(t *testing.T) {
	var a Audit
	pages, _, _, _ := a.Begin(false, AtOnce)
	now := time.Now()
	ask := func() (asked int) {
		for n := range 3 * AtOnce {
			if a.Asks(strconv.Itoa(n), now) != "" {
				asked++
			}
		}
		return asked
	}
	if n := ask(); n != AtOnce {
		t.Errorf("%d hosts are asked, want %d", n, AtOnce)
	}
	for n := range 10 {
		if !a.Put(t.Context(), &api.EndsPage{Host: strconv.Itoa(n), Audit: a.id, Last: true}) {
			t.Errorf("the page of host %d is not wanted", n)
		}
		<-pages
	}
	if n := ask(); n != AtOnce || a.Asks("0", now) != "" || a.Asks(strconv.Itoa(AtOnce), now) == "" {
		t.Errorf("%d hosts are asked after 10 have shipped all, want %d", n, AtOnce)
	}
	now = now.Add(2 * silent)
	if a.Asks("new", now) == "" {
		t.Error("silent hosts keep another from being asked")
	}
}
