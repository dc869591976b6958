package supervisor

import (
	"strconv"
	"testing"
	"time"

	"qb/api"
)

// TestEndsAreAskedForInTurns: no more hosts ship at a time than the supervisor has room for, and none of them holds the
// others up for good.
func TestEndsAreAskedForInTurns(t *testing.T) {
	var a endsAudit
	pages, _ := a.begin()
	now := time.Now()
	ask := func() (asked int) {
		for n := range 3 * endsAsked {
			if a.asks(strconv.Itoa(n), now) != "" {
				asked++
			}
		}
		return asked
	}
	if n := ask(); n != endsAsked {
		t.Errorf("%d hosts are asked, want %d", n, endsAsked)
	}
	for n := range 10 {
		if !a.put(t.Context(), &api.EndsPage{Host: strconv.Itoa(n), Audit: a.id, Last: true}) {
			t.Errorf("the page of host %d is not wanted", n)
		}
		<-pages
	}
	if n := ask(); n != endsAsked || a.asks("0", now) != "" || a.asks(strconv.Itoa(endsAsked), now) == "" {
		t.Errorf("%d hosts are asked after 10 have shipped all, want %d", n, endsAsked)
	}
	now = now.Add(2 * endsSilent)
	if a.asks("new", now) == "" {
		t.Error("silent hosts keep another from being asked")
	}
}
