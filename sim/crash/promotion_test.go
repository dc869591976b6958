package crash

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qb/sim/replica"
	"qb/supervisor/job/facts"
)

// A replica is promoted in place of a primary that crashed, and the former primary comes back beside it, after which
// the supervisors start again. What was acknowledged after the promotion stays, and nothing runs twice at once. With
// synchronous replication nothing was lost before it either; with asynchronous replication each attempt that was lost
// is named. So it is where the primary did not crash, and goes on to take commits beside the promoted replica.
func TestPromotion(t *testing.T) {
	for _, name := range []string{"synchronous", "asynchronous", "asynchronous, both alive"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			promotion(t, name == "synchronous", strings.HasSuffix(name, "alive"))
		})
	}
}

func promotion(t *testing.T, synchronous, alive bool) {
	former, promoted := replica.Start(t)
	r := newCrashRigOn(t, replica.URL(former, promoted), 1, 2, 2)
	if synchronous {
		former.Set("synchronous_standby_names", "b")
		r.until("commits wait for the replica", func() bool { return former.Query("SELECT sync_state FROM pg_stat_replication") == "sync" })
	}
	submit := func(items, priority string) string {
		return r.qb(0, r.both(), "qbsub", "-range", items, "-priority", priority, "-cpus", "4", "-max_cpus", "0", "/bin/sh", r.path("item.sh"), r.path("truth"), "2", "plain")
	}
	first := submit("1-160", "9")
	r.until("items end", func() bool { return r.endedBy(first) >= 10 })
	if !synchronous {
		promoted.Set("primary_conninfo", "") // what is committed from now on is lost
		behind := r.endedBy(first)
		r.until("items end of which the replica does not know", func() bool { return r.endedBy(first) >= behind+6 })
	}
	if !alive {
		former.Stop()
	}
	promoted.Promote()
	begun := r.begunBy(first)
	r.until("the farm goes on", func() bool { return r.begunBy(first) > begun+4 && (!alive || r.ledAt(promoted)) })
	second := submit("1-4", "1") // before what is left of the first
	r.until("items end after the promotion", func() bool { return r.endedBy(second) == 4 && len(doneAt(promoted)) > 4 })

	acknowledged := doneAt(promoted)
	if !alive {
		former.Start()
	}
	for _, s := range r.supervisors {
		s.kill()
	}
	if n := r.endedBy(first); n == 160 {
		t.Errorf("all %d items had ended before the supervisors started again: nothing was tried", n)
	}
	for _, s := range r.supervisors {
		r.must(s.start())
	}
	for _, job := range []string{first, second} {
		r.until("job "+job+" completes", func() bool {
			return r.qb(-1, r.both(), "qbjobs", "-no-headers", "-fields", "status", job) == "complete"
		})
	}
	done := doneAt(promoted)
	for _, row := range acknowledged {
		if !slices.Contains(done, row) {
			t.Errorf("attempt %s was acknowledged after the promotion, and is no longer done", row)
		}
	}
	r.checkPromotion(promoted, synchronous)
}

// checkPromotion compares what the items wrote with the rows, and looks that an audit names what these do not know.
func (r *crashRig) checkPromotion(promoted *replica.Server, synchronous bool) {
	t := r.t
	r.checkTruth()
	r.until("both hosts can be asked", func() bool { return r.hostsUp() == 2 })
	code := 1
	if synchronous {
		code = 0
	}
	audit := r.qb(code, r.both(), "env", "QB_DATABASE_URL="+r.database, "qb", "audit", "-workers")
	if !strings.Contains(audit, "2 of 2 workers answered") {
		t.Errorf("not all workers were compared with the rows:\n%s", audit)
	}
	rows := strings.Fields(promoted.Query("SELECT job || '.' || item || '.' || number FROM attempt"))
	runs, err := readTruth(r.path("truth"))
	r.must(err)
	ended, lost := map[itemOf]int{}, 0
	for id, run := range runs {
		ended[itemOf{id.Job, id.Item}] += run.ends
		if slices.Contains(rows, fmt.Sprintf("%d.%d.%d", id.Job, id.Item, id.Number)) {
			continue
		}
		lost++
		if name := fmt.Sprintf("job %d, item number %d: attempt %d ran on %s, and no row knows it", id.Job, id.Item, id.Number, run.host); !strings.Contains(audit, name) {
			t.Errorf("%v is lost, and the audit does not name it:\n%s", id, audit)
		}
	}
	for item, times := range ended {
		if times == 0 || synchronous && times > 1 {
			t.Errorf("item %d of job %d ended %d times", item.item, item.job, times)
		}
	}
	if len(ended) != 164 || synchronous == (lost > 0) {
		t.Errorf("%d items ran, want 164; %d attempts were lost", len(ended), lost)
	}
	t.Logf("%d attempts, %d of which the promoted replica did not know; all of them are named", len(runs), lost)
}

// doneAt are the attempts that are done in a server's rows.
func doneAt(s *replica.Server) []string {
	return strings.Fields(s.Query("SELECT job || '.' || item || '.' || number FROM attempt WHERE state = 'done'"))
}

// ledAt says whether a supervisor leads in the server's rows.
func (r *crashRig) ledAt(s *replica.Server) bool {
	return s.Query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted") != "0"
}

func (r *crashRig) hostsUp() int {
	return strings.Count(r.qb(-1, r.both(), "qbhosts", "-no-headers", "-fields", "state"), "up")
}

// endedBy counts the items of a job that wrote their end.
func (r *crashRig) endedBy(job string) int {
	id, err := strconv.ParseInt(job, 10, 64)
	r.must(err)
	runs, err := readTruth(r.path("truth"))
	r.must(err)
	ended := map[facts.ItemNo]bool{}
	for of, run := range runs {
		if of.Job == facts.JobID(id) && run.ends > 0 {
			ended[of.Item] = true
		}
	}
	return len(ended)
}
