package history

import (
	"context"
	"maps"
	"slices"
	"time"
)

// flooder is the owner whose logs take more than half of what all owners' take, "" if there is none or he is alone.
func (a *Ager) flooder(ctx context.Context) (string, error) {
	sizes, err := a.Logs.Sizes()
	if err != nil {
		return "", err
	}
	owners, err := a.Store.Owners(ctx, slices.Collect(maps.Keys(sizes)))
	if err != nil {
		return "", err
	}
	sums, all := map[string]int64{}, int64(0)
	for id, owner := range owners {
		sums[owner] += sizes[id]
		all += sizes[id]
	}
	for owner, sum := range sums {
		if sum > all/2 && len(sums) > 1 {
			return owner, nil
		}
	}
	return "", nil
}

// removeFlood deletes logs of an owner who uses more than half of the space, before logs of other owners: those of
// ended jobs, in the order in which the jobs ended, even if they ended just now.
func (a *Ager) removeFlood(ctx context.Context, short func() bool) (jobs int, err error) {
	owner, err := a.flooder(ctx)
	if owner == "" || err != nil {
		return 0, err
	}
	jobs, err = a.sweepLogs(ctx, time.Now(), short, owner)
	if jobs > 0 {
		a.Log.Warn("logs of one user deleted early: they used more than half of the space", "user", owner, "jobs", jobs)
	}
	return jobs, err
}
