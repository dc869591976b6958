package supervisor

import (
	"strings"
	"testing"

	"qb/api"
)

// TestAnOutageIsToldOnce: however many callers find the database away, the log has a line for its beginning and one
// for its end; what fails for another reason has its own.
func TestAnOutageIsToldOnce(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	known := r.client("u1", api.User)
	must[[]api.Job](t, known, api.ListJobs, nil, nil) // from now on its token is known without a question
	unheard := r.client("u2", api.User)
	told := func(text string) int { return strings.Count(r.log.String(), text) }
	for n := 1; n <= 2; n++ {
		r.store.failRead.Store(true)
		for range 3 {
			refused(t, api.KindUnavailable, unheard, api.PingFarm, nil, nil)
			refused(t, api.KindUnavailable, known, api.ListJobs, nil, nil)
		}
		if got := told("database calls fail"); got != n {
			t.Errorf("outage %d: %d lines tell of it", n, got)
		}
		r.store.failRead.Store(false)
		for range 3 {
			must[[]api.Job](t, known, api.ListJobs, nil, nil)
		}
		if got := told("database calls work again"); got != n {
			t.Errorf("outage %d: %d lines tell of its end", n, got)
		}
	}
}
