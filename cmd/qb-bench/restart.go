package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/api"
	"qb/internal/pause"
)

// restartResult is what `qb bench -restart` prints: medians of restarts after kill -9 of a supervisor that is alone,
// its Postgres started too, while the hosts go on.
type restartResult struct {
	Hosts int       `json:"hosts"`
	Slots int       `json:"slots"`
	Ended int       `json:"ended"` // attempts besides the running ones
	Load  benchLoad `json:"load"`
	// seconds from the start of the program
	Ready float64 `json:"ready_seconds"` // until the farm says that it is ready
	Works float64 `json:"works_seconds"` // until the next item has ended
	Heard float64 `json:"heard_seconds"` // until all hosts are up
	// of the start until the farm is ready
	SupervisorCPUSeconds float64 `json:"supervisor_cpu_seconds"`
	PostgresCPUSeconds   float64 `json:"postgres_cpu_seconds"`
	SupervisorRSS        int64   `json:"supervisor_rss"` // peak, in all of the last restart
}

const (
	restartTurns  = 3
	restartWithin = 3 * time.Minute // bounds each wait
	restartLook   = 100 * time.Millisecond
)

// sqlEnded makes attempts of a job that have ended, of its last $2 items of $3. The farm does not know of them before
// its restart, and gives no such item out until then.
const sqlEnded = `WITH one AS (SELECT * FROM attempt WHERE job = $1 AND ended_at IS NULL LIMIT 1)
	INSERT INTO attempt SELECT %s FROM one, generate_series($3::int - $2, $3::int - 1) AS i`

// restarts fills the farm, then kills its supervisor and starts it again, a few times.
func (b *benchRun) restarts(ctx context.Context, errOut io.Writer) (*restartResult, error) {
	r := &restartResult{Hosts: b.benchOptions.hosts, Slots: b.slots, Ended: b.ended,
		Load: benchLoad{Before: loadAverage()}}
	ids, err := b.submit(ctx, &benchResult{})
	if err != nil {
		return nil, err
	}
	if err := b.startHosts(errOut); err != nil {
		return nil, err
	}
	full := 0.97 * float64(min(b.benchOptions.hosts*b.slots, b.items))
	if _, err := b.until(ctx, time.Now(), "the farm is full", func() (bool, error) {
		running, err := b.running(ctx, ids)
		return float64(running) >= full, err
	}); err != nil {
		return nil, err
	}
	added, err := b.addEnded(ctx, ids)
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(b.file.URL)
	if err != nil {
		return nil, err
	}
	b.address = address.Host
	var ready, works, heard, supervisor, postgres, load []float64
	for range restartTurns {
		before, err := b.count(ctx, ids)
		if err != nil {
			return nil, err
		}
		_ = b.farm.Process.Kill()
		_ = b.farm.Wait()
		began := time.Now()
		if err := b.startFarm(errOut); err != nil {
			return nil, err
		}
		ready = append(ready, time.Since(began).Seconds())
		used := cpuOf(b.farm.Process.Pid)
		supervisor, postgres = append(supervisor, used.Self), append(postgres, used.Children)
		one, err := b.until(ctx, began, "an item has ended", func() (bool, error) {
			after, err := b.count(ctx, ids)
			return after > before+added, err
		})
		if err != nil {
			return nil, err
		}
		added = 0 // they are counted now
		all, err := b.until(ctx, began, "all hosts are up", func() (bool, error) {
			m, err := b.metrics(ctx)
			return int(m[`qb_hosts{state="up"}`]) >= b.benchOptions.hosts, err
		})
		if err != nil {
			return nil, err
		}
		works, heard, load = append(works, one), append(heard, all), append(load, loadAverage())
		fmt.Fprintf(errOut, "ready after %.2f s, the next item ended after %.2f s, all hosts were up after %.2f s\n",
			ready[len(ready)-1], one, all)
	}
	r.Load.During = mean(load)
	r.Ready, r.Works, r.Heard = median(ready), median(works), median(heard)
	r.SupervisorCPUSeconds, r.PostgresCPUSeconds = median(supervisor), median(postgres)
	r.SupervisorRSS = cpuOf(b.farm.Process.Pid).Peak
	_, err = b.collect(&benchResult{})
	return r, err
}

// until looks until it is so, and returns how many seconds after the begin that was. Meanwhile the farm may have other
// things to do than to answer.
func (b *benchRun) until(ctx context.Context, began time.Time, what string, so func() (bool, error)) (float64, error) {
	for {
		is, err := so()
		if is {
			return time.Since(began).Seconds(), nil
		}
		if time.Since(began) > restartWithin {
			return 0, api.Errorf(api.KindUnavailable, "after %s it is not so that %s (%v)", restartWithin, what, err)
		}
		if err := pause.For(ctx, restartLook); err != nil {
			return 0, err
		}
	}
}

// addEnded adds the ended attempts, and returns how many there are.
func (b *benchRun) addEnded(ctx context.Context, ids []int64) (added int, err error) {
	each, items := b.ended/b.jobs, b.items/b.jobs
	if each == 0 {
		return 0, nil
	}
	conn, err := pgx.Connect(ctx, b.file.DatabaseURL)
	if err != nil {
		return 0, fmt.Errorf("connecting to the database to add attempts: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	names, err := columnsOf(ctx, conn)
	if err != nil {
		return 0, fmt.Errorf("reading the columns of attempt: %w", err)
	}
	instead := map[string]string{"item": "i", "number": "1", "state": "'done'", "exit_code": "0", "wall": "60", "cpu": "59",
		"peak": "1000000", "ended_at": "started_at + interval '60 s'"}
	for n, name := range names {
		if value, other := instead[name]; other {
			names[n] = value
		}
	}
	for _, id := range ids {
		done, err := conn.Exec(ctx, fmt.Sprintf(sqlEnded, strings.Join(names, ", ")), id, each, items)
		if err != nil {
			return 0, fmt.Errorf("adding attempts: %w", err)
		}
		added += int(done.RowsAffected())
	}
	return added, nil
}
