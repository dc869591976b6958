package serve

import (
	"strings"
	"testing"

	"qb/api"
)

// TestAnOutageIsToldOnce: however many callers find the database away, and however often it comes back for a moment,
// the log has one line.
func TestAnOutageIsToldOnce(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	known := r.client("u1", api.User)
	must[[]api.Job](t, known, api.ListJobs, nil, nil) // from now on its token is known without a question
	unheard := r.client("u2", api.User)
	for range 2 {
		r.store.failRead.Store(true)
		for range 3 {
			refused(t, api.KindUnavailable, unheard, api.PingFarm, nil, nil)
			refused(t, api.KindUnavailable, known, api.ListJobs, nil, nil)
		}
		r.store.failRead.Store(false)
		must[[]api.Job](t, known, api.ListJobs, nil, nil)
	}
	if got := strings.Count(r.log.String(), "database calls fail"); got != 1 {
		t.Errorf("%d lines tell of it", got)
	}
}
