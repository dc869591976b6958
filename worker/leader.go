package worker

import (
	"context"
	"math/rand/v2"
	"time"

	"qb/api"
	"qb/internal/pause"
)

// While a sync is being held, the other addresses are asked now and then whether one of them leads: a
// leader that was stopped holds its syncs for good.
const (
	lookAroundFirst = 2500 * time.Millisecond
	lookAroundEvery = 2 * time.Second
)

// call sends a sync to the address in use. It is given up early if another supervisor says that it leads,
// and that one's address is taken.
func (f *supervisorConn) call(ctx context.Context, at uint32, s api.Sync, reply *api.SyncReply) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	f.wait.Go(func() { f.lookAround(ctx, at, leave) })
	return f.syncs[at].Call(ctx, api.SyncWorker, nil, s, reply)
}

// lookAround returns when the call is over, or has made it so since another leads.
func (f *supervisorConn) lookAround(ctx context.Context, at uint32, leave func()) {
	for wait := lookAroundFirst; pause.For(ctx, wait) == nil; wait = lookAroundEvery/2 + rand.N(lookAroundEvery/2) {
		for i := range f.logs {
			other := uint32(i)
			if other == at {
				continue
			}
			if err := f.logs[other].Healthy(ctx); err == nil || api.Listens(err) {
				f.at.CompareAndSwap(at, other)
				leave()
				return
			}
		}
	}
}
