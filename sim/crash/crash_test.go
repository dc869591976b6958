package crash

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/store/postgres"
)

// Everything that can die dies at random; then nothing is lost and nothing was doubled. In the suite it is
// short and always alike; make crash sets QB_CRASH_DURATION and QB_CRASH_SEED.
func TestCrash(t *testing.T) {
	duration, seed := 9*time.Second, uint64(7)
	if text := os.Getenv("QB_CRASH_DURATION"); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatalf("QB_CRASH_DURATION = %q: %v", text, err)
		}
		seed = uint64(time.Now().UnixNano() % 1e6)
	} else {
		t.Parallel()
	}
	if text := os.Getenv("QB_CRASH_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("QB_CRASH_SEED = %q: %v", text, err)
		}
	}
	t.Logf("seed %d, %s of faults", seed, duration)
	agents, most := 4, 30
	if duration > time.Minute {
		agents, most = 6, 50 // so many that the brake may hold them
	}
	r := newCrashRig(t, seed, agents, 3)
	r.large = r.plantLarge(duration)
	before := r.levels()
	jobs := r.submitJobs(seed, most)
	watching, enough := context.WithCancel(t.Context())
	looks := make(chan int, 1)
	go func() { looks <- r.watchEnds(watching) }()
	r.breakFor(duration)
	r.heal()
	if duration > time.Minute {
		r.letTwinIn(jobs)
	}
	jobs.stop()
	healed := time.Now()
	released := time.Time{}
	r.until("all items end", func() bool {
		r.settle(time.Now())
		if time.Since(released) > crashReleaseEvery {
			jobs.release()
			released = time.Now()
		}
		n, err := r.unfinished(t.Context())
		return err == nil && n == 0
	})
	t.Logf("all items ended %.1f s after healing", time.Since(healed).Seconds())
	r.until("no shim is left", func() bool { return len(r.processes("shim", "")) == 0 })
	r.until("all output has arrived", func() bool {
		left, err := filepath.Glob(r.path("a*", "log", "*"))
		return err == nil && len(left) == 0
	})
	enough()
	t.Logf("nothing was left of an ended attempt in %d looks", <-looks)
	r.check(jobs)
	r.checkTwins()
	r.checkLevels(before)
	r.report(jobs)
	if duration > time.Minute && r.faults["leader killed in a large order"] == 0 {
		t.Error("no leader was killed in a large order")
	}
}

// crashReleaseEvery is how often items that are held by a person's order or after losses are let go at the end.
const crashReleaseEvery = 2 * time.Second

// check compares what was acknowledged, what the rows say and what the items wrote themselves.
func (r *crashRig) check(jobs *crashJobs) {
	t := r.t
	runs, err := readTruth(r.path("truth"))
	r.must(err)
	audit, err := postgres.Audit(context.Background(), r.database)
	r.must(err)
	for _, p := range audit.Problems {
		t.Errorf("audit: %s", problemText(p))
	}
	for _, text := range append(overlaps(runs), jobs.twice...) {
		t.Error(text)
	}
	rows, known := r.rows()
	r.readTaken()
	r.checkPrograms()
	r.readLate()
	if audit.Jobs != int64(len(jobs.taken)+len(r.large.jobs)) || len(known) != len(jobs.taken) {
		t.Errorf("%d jobs were acknowledged, the rows hold %d", len(jobs.taken), len(known))
	}
	items := 0
	for id, job := range jobs.taken {
		row := known[facts.JobID(id)]
		if row.state != "complete" && !(job.ordered.kill && row.state == "killed") {
			t.Errorf("job %d (%s) was acknowledged and is %q", id, job.key, row.state)
		}
		for item := range job.items {
			items++
			r.checkItem(facts.JobID(id), facts.ItemNo(item), job, rows, runs)
		}
		r.checkOrders(facts.JobID(id), job, row.priority, rows)
		r.checkLogs(facts.JobID(id), job, rows)
	}
	r.checkCharges(rows, runs)
	for id := range runs {
		if !slices.ContainsFunc(rows[itemOf{id.Job, id.Item}], func(a crashRow) bool { return a.number == id.Number }) {
			t.Errorf("%v ran, and no row knows it", id)
		}
	}
	for _, p := range r.itemProcesses() {
		t.Errorf("process %d of %v is left", p.pid, p.id)
	}
	t.Logf("%d jobs (%d submitted again), %d items, %d attempts, %d of which ran", len(jobs.taken), jobs.repeats, items, audit.Attempts-int64(len(r.large.jobs)*r.large.items), len(runs))
}

type itemOf struct {
	job  facts.JobID
	item facts.ItemNo
}

type crashRow struct {
	number      int
	state, host string
	cause       string
	started     time.Time
	ended       time.Time
	wall        float64 // as the worker measured it; 0: it did not
	charge      float64
	charged     bool
}

type crashJobRow struct {
	state    string
	priority int
}

// checkItem wants exactly one done attempt, whose end the item itself wrote, on the host of its row. Where
// items were killed there may be none; then qb audit accounts for the item. Nor is there one where an attempt counts
// that was given up: then the item wrote its end in that.
func (r *crashRig) checkItem(job facts.JobID, item facts.ItemNo, j crashJob, rows map[itemOf][]crashRow, runs map[facts.AttemptID]*crashRun) {
	done, late := 0, false
	for _, row := range rows[itemOf{job, item}] {
		id := facts.AttemptID{Job: job, Item: item, Number: row.number}
		run := runs[id]
		if run != nil && run.host != row.host {
			r.t.Errorf("%v ran on %s, its row says %s", id, run.host, row.host)
		}
		switch row.state {
		case "done":
			done++
			fallthrough
		case "superseded":
			if run == nil || run.ends != 1 {
				r.t.Errorf("%v is %s and never ran to its end: %+v", id, row.state, run)
			}
		case "failed":
			if (j.manner != "fail" || run == nil || run.fails != 1) && !r.excused(id, row, j) {
				r.t.Errorf("%v is charged as failed: %+v", id, run)
			}
		case "lost":
			late = late || r.late[itemOf{job, item}] && run != nil && run.ends == 1
		}
	}
	if done != 1 && !(done == 0 && (j.ordered.kill || late)) {
		r.t.Errorf("item %d of job %d has %d done attempts: %+v", item, job, done, rows[itemOf{job, item}])
	}
}

// checkLogs wants the whole output of each attempt that ended by itself, except for what a full disk did not take,
// which is ordered to the byte; and of each other the beginning.
func (r *crashRig) checkLogs(job facts.JobID, j crashJob, rows map[itemOf][]crashRow) {
	for item := range j.items {
		for _, row := range rows[itemOf{job, facts.ItemNo(item)}] {
			name, last := fmt.Sprintf(" %d.%d.%d\n", job, item, row.number), "end"
			if j.manner == "fail" && row.number == 1 {
				last = "fail"
			}
			want := "start" + name + strings.Repeat("tick"+name, j.ticks) + last + name
			if kept, _ := filepath.Glob(r.path("twin*", "log", fmt.Sprintf("%d-%d-%d", job, item, row.number))); len(kept) > 0 {
				continue // what it had not sent is gone with its worker
			}
			out, err := r.output(job, item+1, row.number)
			whole := slices.Contains([]string{"done", "superseded", "failed"}, row.state)
			switch {
			case whole && !r.unreported[facts.AttemptID{Job: job, Item: facts.ItemNo(item), Number: row.number}]:
				missing := 0
				fmt.Sscanf(row.cause, "the item's log is not complete: %d bytes", &missing)
				if err != nil || len(out)+missing != len(want) || !linesOf(out, want) {
					r.t.Errorf("output of attempt %d of item %d of job %d (%s): %v, %q, want %q", row.number, item, job, row.state, err, out, want)
				}
			default:
				if err != nil && !isKind(err, api.KindNotFound) || !strings.HasPrefix(want, out) && (r.faults["disk full"] == 0 || !linesOf(out, want)) {
					r.t.Errorf("output of attempt %d of item %d of job %d (%s): %v, %q, want the beginning of %q", row.number, item, job, row.state, err, out, want)
				}
			}
		}
	}
}

// linesOf says whether out is lines of all, in their order.
func linesOf(out, all string) bool {
	left := strings.SplitAfter(all, "\n")
	for _, line := range strings.SplitAfter(out, "\n") {
		n := slices.Index(left, line)
		if n < 0 {
			return false
		}
		left = left[n+1:]
	}
	return true
}

// output is an attempt's output as the leader serves it.
func (r *crashRig) output(job facts.JobID, name, number int) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	at, err := api.Locate(ctx, r.clients)
	if err != nil {
		return "", err
	}
	params := jobParam(int64(job))
	params["item"], params["attempt"], params["stream"] = strconv.Itoa(name), strconv.Itoa(number), "stdout"
	resp, err := r.clients[at].Open(ctx, api.ItemLog, params, nil, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

func (r *crashRig) rows() (map[itemOf][]crashRow, map[facts.JobID]crashJobRow) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, r.database)
	r.must(err)
	defer conn.Close(ctx)
	rows := map[itemOf][]crashRow{}
	list, err := conn.Query(ctx, `SELECT job, item, number, state, host, cause, started_at, coalesce(ended_at, started_at), wall, coalesce(charge_cpu, 0), charged
		FROM attempt WHERE job <> ALL($1) ORDER BY job, item, number`, r.large.jobs)
	r.must(err)
	var key itemOf
	var row crashRow
	_, err = pgx.ForEachRow(list, []any{&key.job, &key.item, &row.number, &row.state, &row.host, &row.cause, &row.started, &row.ended, &row.wall, &row.charge, &row.charged}, func() error {
		rows[key] = append(rows[key], row)
		return nil
	})
	r.must(err)
	jobs := map[facts.JobID]crashJobRow{}
	list, err = conn.Query(ctx, `SELECT id, state, priority FROM job WHERE id <> ALL($1)`, r.large.jobs)
	r.must(err)
	var id facts.JobID
	var job crashJobRow
	_, err = pgx.ForEachRow(list, []any{&id, &job.state, &job.priority}, func() error {
		jobs[id] = job
		return nil
	})
	r.must(err)
	return rows, jobs
}

// readLate notes which items count as complete by a result from before the end of a lease.
func (r *crashRig) readLate() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, r.database)
	r.must(err)
	defer conn.Close(ctx)
	list, err := conn.Query(ctx, `SELECT job, item FROM event WHERE type = 'late-end'`)
	r.must(err)
	r.late = map[itemOf]bool{}
	var of itemOf
	_, err = pgx.ForEachRow(list, []any{&of.job, &of.item}, func() error {
		r.late[of] = true
		return nil
	})
	r.must(err)
}

func (r *crashRig) report(jobs *crashJobs) {
	total := 0
	for _, n := range r.faults {
		total += n
	}
	r.t.Logf("%d faults: %s", total, counted(r.faults))
	r.t.Logf("orders: %s", counted(jobs.orders))
	r.t.Logf("ends and events: %s", counted(r.happened()))
	r.t.Logf("large orders: %d, on %d jobs of %d items; the leader was killed in %d of them, and a later term went on",
		r.large.given, len(r.large.jobs), r.large.items, r.faults["leader killed in a large order"])
}

// counted writes what happened how often, by name.
func counted(counts map[string]int) string {
	var parts []string
	for _, name := range sortedNames(counts) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(parts, ", ")
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// happened counts ends by state, and the events that a long run should have seen.
func (r *crashRig) happened() map[string]int {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, r.database)
	r.must(err)
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `SELECT state, count(*) FROM attempt WHERE job <> ALL($1) GROUP BY 1
		UNION ALL SELECT CASE reason WHEN 'handed_back' THEN 'handed back' ELSE 'held ahead' END, count(*) FROM attempt
			WHERE behind_number > 0 GROUP BY 1
		UNION ALL SELECT type, count(*) FROM event WHERE type NOT LIKE 'ordered-%' GROUP BY 1`, r.large.jobs)
	r.must(err)
	counts := map[string]int{}
	var name string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&name, &n}, func() error {
		counts[name] = n
		return nil
	})
	r.must(err)
	return counts
}
