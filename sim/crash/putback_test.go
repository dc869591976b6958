package crash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/api"
)

// Rows that are put back under a leader, and under a stopped one: all hosts obey a term again, and what runs on them
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
		old := r.leading()
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

// The row of terms is put back while the host is not heard, and two leaders follow before it is: the second has a
// number above the term that the host obeys, and finds by its begin that the rows know another term of that number.
func TestPutBackBeforeTwoLeaders(t *testing.T) {
	t.Parallel()
	r := newCrashRig(t, 1, 1, 2)
	long := r.qb(0, r.both(), "qbsub", "-max_cpus", "0", "sleep", "1000")
	r.until("the item runs", func() bool { return len(r.running(long)) == 1 })
	before, backup := r.running(long), r.epoch()
	r.query(`CREATE TABLE backup AS SELECT epoch, terms FROM supervisor`)
	r.depose()
	r.until("another term gives items out", func() bool { return r.settledAbove(backup) })
	r.qb(0, r.both(), "qbwait", r.qb(0, r.both(), "qbsub", "true")) // so the host obeys it
	if restores := r.query(`SELECT count(*) FROM restore`); restores != 0 {
		t.Fatalf("%d restores were noted before there was one", restores)
	}
	r.agents[0].signal(syscall.SIGSTOP)
	r.query(`UPDATE supervisor SET epoch = backup.epoch, terms = backup.terms FROM backup`)
	for n := int64(1); n <= 2; n++ {
		r.until("another leads", func() bool { return r.epoch() == backup+n })
		if n == 1 {
			r.depose()
		}
	}
	r.agents[0].signal(syscall.SIGCONT)
	r.until("the restore is noticed", func() bool { return r.query(`SELECT count(*) FROM restore WHERE reason = 'higher-term'`) == 1 })
	r.until("the host is up", func() bool {
		return r.settledAbove(backup+2) && r.query(`SELECT count(*) FROM restore WHERE settled_at IS NULL`) == 0
	})
	if after := r.running(long); !slices.Equal(before, after) {
		t.Errorf("items ran as %v, and after the row was put back as %v", before, after)
	}
	if restores := r.query(`SELECT count(*) FROM restore`); restores != 1 {
		t.Errorf("one restore was noticed as %d", restores)
	}
}

// depose ends the leader's session.
func (r *crashRig) depose() {
	r.query(`SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory' AND granted`)
}

// query makes one statement, and returns the number that it tells, 0 if it tells none.
func (r *crashRig) query(sql string) (number int64) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, r.database)
	r.must(err)
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, sql).Scan(&number); !errors.Is(err, pgx.ErrNoRows) {
		r.must(err)
	}
	return number
}

// setEpoch has the rows tell of another term than the leader's.
func (r *crashRig) setEpoch(epoch int64) {
	r.query(fmt.Sprintf(`UPDATE supervisor SET epoch = %d`, epoch))
}

func (r *crashRig) epoch() int64 { return r.query(`SELECT epoch FROM supervisor`) }

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
