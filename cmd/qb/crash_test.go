package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/api"
	"qb/supervisor/farm"
	"qb/supervisor/store"
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
	r := newCrashRig(t, seed, 4, 3)
	jobs := r.submitJobs(seed, 30)
	r.breakFor(duration)
	r.heal()
	jobs.stop()
	healed := time.Now()
	r.until("all items end", func() bool {
		r.settle(time.Now())
		n, err := r.unfinished(t.Context())
		return err == nil && n == 0
	})
	t.Logf("all items ended %.1f s after healing", time.Since(healed).Seconds())
	r.until("no shim is left", func() bool { return len(r.processes("shim", "")) == 0 })
	r.until("all output has arrived", func() bool {
		left, err := filepath.Glob(r.path("a*", "log", "*"))
		return err == nil && len(left) == 0
	})
	r.check(jobs)
	r.report()
}

// check compares what was acknowledged, what the rows say and what the items wrote themselves.
func (r *crashRig) check(jobs *crashJobs) {
	t := r.t
	runs, err := readTruth(r.path("truth"))
	r.must(err)
	audit, err := store.Audit(context.Background(), r.cluster.URL())
	r.must(err)
	for _, p := range audit.Problems {
		t.Errorf("audit: %s", problemText(p))
	}
	for _, text := range append(overlaps(runs), jobs.twice...) {
		t.Error(text)
	}
	rows, known := r.rows()
	if audit.Jobs != int64(len(jobs.taken)) || len(known) != len(jobs.taken) {
		t.Errorf("%d jobs were acknowledged, the rows hold %d", len(jobs.taken), audit.Jobs)
	}
	items := 0
	for id, job := range jobs.taken {
		if state, ok := known[farm.JobID(id)]; !ok || state != "complete" {
			t.Errorf("job %d (%s) was acknowledged and is %q", id, job.key, state)
		}
		for item := range job.items {
			items++
			r.checkItem(farm.JobID(id), farm.ItemNo(item), rows, runs)
		}
		r.checkLogs(farm.JobID(id), job, rows)
	}
	for id := range runs {
		if !slices.ContainsFunc(rows[itemOf{id.Job, id.Item}], func(a crashRow) bool { return a.number == id.Number }) {
			t.Errorf("%v ran, and no row knows it", id)
		}
	}
	for _, pid := range r.ours() {
		if line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")); strings.Contains(string(line), "item.sh") {
			t.Errorf("process %d of an item is left", pid)
		}
	}
	t.Logf("%d jobs (%d submitted again), %d items, %d attempts, %d of which ran", len(jobs.taken), jobs.repeats, items, audit.Attempts, len(runs))
}

type itemOf struct {
	job  farm.JobID
	item farm.ItemNo
}

type crashRow struct {
	number      int
	state, host string
}

// checkItem wants exactly one done attempt, whose end the item itself wrote, on the host of its row.
func (r *crashRig) checkItem(job farm.JobID, item farm.ItemNo, rows map[itemOf][]crashRow, runs map[farm.AttemptID]*crashRun) {
	done := 0
	for _, row := range rows[itemOf{job, item}] {
		id := farm.AttemptID{Job: job, Item: item, Number: row.number}
		run := runs[id]
		if run != nil && run.host != row.host {
			r.t.Errorf("%v ran on %s, its row says %s", id, run.host, row.host)
		}
		if row.state != "done" {
			if row.state == "failed" {
				r.t.Errorf("%v is charged as failed", id)
			}
			continue
		}
		done++
		if run == nil || run.ends != 1 {
			r.t.Errorf("%v is done and never ran to its end: %+v", id, run)
		}
	}
	if done != 1 {
		r.t.Errorf("item %d of job %d has %d done attempts: %+v", item, job, done, rows[itemOf{job, item}])
	}
}

// checkLogs wants the whole output of each attempt that is done.
func (r *crashRig) checkLogs(job farm.JobID, j crashJob, rows map[itemOf][]crashRow) {
	want := "start\n" + strings.Repeat("tick\n", j.ticks) + "end\n"
	for item := range j.items {
		for _, row := range rows[itemOf{job, farm.ItemNo(item)}] {
			if row.state != "done" {
				continue
			}
			out, err := r.output(job, item+1, row.number)
			if err != nil || out != want {
				r.t.Errorf("output of attempt %d of item %d of job %d: %v, %q, want %q", row.number, item, job, err, out, want)
			}
		}
	}
}

// output is an attempt's output as the leader serves it.
func (r *crashRig) output(job farm.JobID, name, number int) (string, error) {
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

func (r *crashRig) rows() (map[itemOf][]crashRow, map[farm.JobID]string) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, r.cluster.URL())
	r.must(err)
	defer conn.Close(ctx)
	rows := map[itemOf][]crashRow{}
	list, err := conn.Query(ctx, `SELECT job, item, number, state, host FROM attempt ORDER BY job, item, number`)
	r.must(err)
	var key itemOf
	var row crashRow
	_, err = pgx.ForEachRow(list, []any{&key.job, &key.item, &row.number, &row.state, &row.host}, func() error {
		rows[key] = append(rows[key], row)
		return nil
	})
	r.must(err)
	jobs := map[farm.JobID]string{}
	list, err = conn.Query(ctx, `SELECT id, state FROM job`)
	r.must(err)
	var id farm.JobID
	var state string
	_, err = pgx.ForEachRow(list, []any{&id, &state}, func() error {
		jobs[id] = state
		return nil
	})
	r.must(err)
	return rows, jobs
}

func (r *crashRig) report() {
	names := make([]string, 0, len(r.faults))
	total := 0
	for name, n := range r.faults {
		names = append(names, fmt.Sprintf("%s %d", name, n))
		total += n
	}
	slices.Sort(names)
	r.t.Logf("%d faults: %s", total, strings.Join(names, ", "))
}
