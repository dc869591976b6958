package serve

import (
	"testing"

	"qb/api"
)

// TestOrderByHand: a user puts own jobs before and behind the own ones alone, an operator all. It is stored.
func TestOrderByHand(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func() *rig{
		"memory":   func() *rig { return startRig(t) },
		"postgres": func() *rig { return startOn(t, startCluster(t).URL()) },
	} {
		t.Run(name, func(t *testing.T) {
			r := start()
			ann, ben, operator := r.client("ann", api.User), r.client("ben", api.User), r.client("ops", api.Operator)
			submit := func(c *api.Client) int {
				return int(must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}}).Job)
			}
			first, bens, second := submit(ann), submit(ben), submit(ann)
			order := func(c *api.Client, action string, job int) {
				t.Helper()
				if reply := must[api.ActionReply](t, c, api.OrderJob,
					params("job", job, "action", action), nil); reply.Affected != 1 {
					t.Errorf("%s %d: %+v", action, job, reply)
				}
			}
			check := func(job int, global, local int64) {
				t.Helper()
				if j := must[api.Job](t, ann, api.GetJob, params("job", job), nil); j.GlobalOrder != global ||
					j.LocalOrder != local {
					t.Errorf("job %d is ordered %d, %d; want %d, %d", job, j.GlobalOrder, j.LocalOrder, global, local)
				}
			}
			order(ann, "top", second)
			order(operator, "top", bens)
			refused(t, api.KindForbidden, ben, api.OrderJob, params("job", first, "action", "top"), nil)
			for n := range 2 {
				check(first, 0, int64(second))
				check(second, 0, int64(first))
				check(bens, -1, 0)
				if n == 0 {
					order(operator, "kill", first) // what has ended is read from its row
				}
			}
		})
	}
}
