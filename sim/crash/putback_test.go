package crash

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/api"
)

// Rows that are put back under a leader, and under one that is stopped: all hosts obey a term again, and what runs on them
// goes on.
func TestPutBackUnderALeader(t *testing.T) {
	t.Parallel()
	r := newCrashRig(t, 1, 4, 1)
	long := r.qb(0, r.both(), "qbsub", "-range", "1-4", "-cpus", "4", "-max_cpus", "0", "sleep", "1000")
	r.until("the items run", func() bool { return len(r.running(long)) == 4 })
	before := r.running(long)
	for i, sig := range []syscall.Signal{syscall.SIGCONT, syscall.SIGSTOP} {
		high := int64(1000 * (i + 1))
		r.setEpoch(high)
		r.until("all hosts obey a high term", func() bool { return r.settledAbove(high) })
		old := r.leader()
		r.supervisors[old].signal(sig)
		r.setEpoch(1)
		if sig == syscall.SIGSTOP {
			r.until("the other leads", func() bool { return r.epoch() > 1 })
		}
		began := time.Now()
		r.until("all hosts are up", func() bool { return r.settledAbove(high + 1) })
		t.Logf("%v: all hosts were up after %.1f s", sig, time.Since(began).Seconds())
		r.supervisors[old].signal(syscall.SIGCONT)
		if after := r.running(long); !slices.Equal(before, after) {
			t.Errorf("%v: items ran as %v, and after the rows were put back as %v", sig, before, after)
		}
	}
}

// setEpoch has the rows tell of another term than the leader's.
func (r *crashRig) setEpoch(epoch int64) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, r.database)
	r.must(err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `UPDATE supervisor SET epoch = $1`, epoch)
	r.must(err)
}

func (r *crashRig) epoch() (epoch int64) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, r.database)
	r.must(err)
	defer conn.Close(ctx)
	r.must(conn.QueryRow(ctx, `SELECT epoch FROM supervisor`).Scan(&epoch))
	return epoch
}

// settledAbove says whether a term above a number gives items out and all hosts are up in it.
func (r *crashRig) settledAbove(epoch int64) bool {
	at, number := r.leader(), r.epoch()
	if at < 0 || number <= epoch {
		return false
	}
	var hosts []api.Host
	if err := r.clients[at].Call(r.t.Context(), api.ListHosts, nil, nil, &hosts); err != nil || len(hosts) != len(r.agents) {
		return false
	}
	return !slices.ContainsFunc(hosts, func(h api.Host) bool { return h.State != "up" })
}
