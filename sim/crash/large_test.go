package crash

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/api"
)

// crashLarge gives orders of many commits each, on jobs whose items have all ended and that no host may run. The plan
// kills the leader whenever one of these orders is shown as unfinished.
type crashLarge struct {
	rig   *crashRig
	jobs  []int64
	items int           // of each job
	every time.Duration // from one order to the next
	given int           // orders of many commits
}

// crashLargeName begins the names of these jobs.
const crashLargeName = "large-"

// crashLargeStep is one order of the series that each job is given: on the items first, first + step and so on.
type crashLargeStep struct {
	action      string
	first, step int  // by name; names count from 1
	large       bool // it changes a row of each of its items
}

// The items begin as killed ones. The last order lets those run again that the second killed.
var crashLargeSteps = []crashLargeStep{{"retry", 1, 2, true}, {"kill", 1, 4, false}, {"requeue", 2, 2, true}, {"retry", 1, 4, true}}

// Each item's one attempt was killed, so that no mark is needed.
const (
	crashLargeRows = `INSERT INTO attempt (job, item, number, host, boot, state_id, instance, kind, owner, slots, memory, state, again,
			reason, cause, exit_code, wall, cpu, peak, started_at, ended_at, charged)
		SELECT j.id, i, 1, 'old', 'b', 's', 0, 'primary', j.owner, 1, 0, 'killed', 0, 'killed', '', 1, 1, 1, 0, j.submitted_at, j.submitted_at, false
		FROM job j, generate_series(0, $2::integer - 1) AS i WHERE j.id = ANY($1)`
	crashLargeMarks = `DELETE FROM item_mark WHERE job = ANY($1)`
)

// plantLarge makes the jobs and ends the term that knows them otherwise.
func (r *crashRig) plantLarge(duration time.Duration) *crashLarge {
	l := &crashLarge{rig: r, items: 12_000, every: time.Second}
	jobs := 1
	if duration > time.Minute {
		l.items, jobs = 40_000, min(8, int(duration/(30*time.Second)))
		l.every = duration / time.Duration(jobs*len(crashLargeSteps)+1)
	}
	for n := range jobs {
		var reply api.SubmitReply
		req := api.SubmitRequest{Name: crashLargeName + strconv.Itoa(n), Range: l.pattern(1, 1), Hosts: []string{"nohost"}, Command: []string{"true"}}
		r.must(r.insist(api.Submit, nil, req, req.Name, &reply))
		l.jobs = append(l.jobs, reply.Job)
		r.must(l.order(reply.Job, "kill", "", req.Name+"-planted"))
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, r.database)
	r.must(err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, crashLargeRows, l.jobs, l.items)
	r.must(err)
	_, err = conn.Exec(ctx, crashLargeMarks, l.jobs)
	r.must(err)
	for _, s := range r.supervisors {
		s.kill()
		r.must(s.start())
	}
	r.leading()
	return l
}

func (l *crashLarge) pattern(first, step int) string {
	return fmt.Sprintf("%d-%dx%d", first, l.items, step)
}

// giveOrders gives each job its series of orders, one after another, and ends it.
func (l *crashLarge) giveOrders(ctx context.Context) {
	for n, id := range l.jobs {
		killed := slices.Repeat([]bool{true}, l.items)
		given := false
		for k, step := range crashLargeSteps {
			if sleep(ctx, l.every) != nil {
				break
			}
			given = true
			l.give(id, step, fmt.Sprintf("large-%d-%d", n, k), killed)
		}
		if !given {
			return
		}
		if err := l.order(id, "kill", "", fmt.Sprintf("large-%d-end", n)); err != nil {
			l.rig.t.Errorf("kill of job %d is refused: %v", id, err)
		}
	}
}

// give gives one order, waits until it is carried out, by whichever term, and wants just its items to have changed.
func (l *crashLarge) give(id int64, step crashLargeStep, key string, killed []bool) {
	r := l.rig
	for item := step.first - 1; item < l.items; item += step.step {
		killed[item] = step.action == "kill"
	}
	seen, over := context.WithCancel(context.Background())
	if step.large {
		l.given++
		go l.watch(seen, id)
	}
	err := l.order(id, step.action, l.pattern(step.first, step.step), key)
	if err != nil {
		r.t.Errorf("%s of job %d is refused: %v", step.action, id, err)
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, left, err := r.orderLeft(id); err == nil && !left {
			break
		}
		if time.Since(began) > 2*crashPatience {
			r.t.Errorf("%s %s of job %d is never carried out", step.action, l.pattern(step.first, step.step), id)
			break
		}
	}
	over()
	l.check(id, step, killed)
}

func (l *crashLarge) order(id int64, action, items, key string) error {
	params := jobParam(id)
	params["action"] = action
	return l.rig.insist(api.OrderJob, params, api.ActionRequest{Items: items}, key, &api.ActionReply{})
}

// watch tells the plan once that an order on the job is shown as begun and unfinished.
func (l *crashLarge) watch(ctx context.Context, id int64) {
	for at := 0; sleep(ctx, 2*time.Millisecond) == nil; at++ {
		within, cancel := context.WithTimeout(ctx, time.Second)
		var job api.Job
		err := l.rig.clients[at%len(l.rig.clients)].Call(within, api.GetJob, jobParam(id), nil, &job)
		cancel()
		if err != nil || !slices.ContainsFunc(job.Orders, func(o api.JobOrder) bool { return o.State == "active" && o.Done < o.Affected }) {
			continue
		}
		select {
		case l.rig.unfinishedOrder <- id:
		case <-ctx.Done():
		}
		return
	}
}

// orderLeft is how far the order on a job has come, if it is not carried out.
func (r *crashRig) orderLeft(id int64) (progress string, left bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, r.database)
	if err != nil {
		return "", false, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	err = conn.QueryRow(ctx, `SELECT coalesce(string_agg(action || ': ' || done || ' of ' || affected, ', '), ''), count(*) > 0 FROM item_order WHERE job = $1`,
		id).Scan(&progress, &left)
	return progress, left, err
}

// killInOrder kills the leader in the middle of an order on the job.
func (r *crashRig) killInOrder(id int64) {
	at := r.leader()
	if at < 0 || !r.killOne(r.supervisors[at]) {
		return
	}
	progress, left, err := r.orderLeft(id)
	r.note("leader %s killed in an order on job %d: %q %v", r.supervisors[at].name, id, progress, err)
	if left {
		r.faults["leader killed in a large order"]++
	}
}

// check compares what runs no more by the rows with what should.
func (l *crashLarge) check(id int64, step crashLargeStep, killed []bool) {
	r := l.rig
	is := make([]bool, l.items)
	rows := 0
	var err error
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if rows, err = r.readKilled(id, is); err == nil || time.Since(began) > crashPatience {
			break // Postgres is among what breaks
		}
	}
	wrong, first := 0, -1
	for item := range is {
		if is[item] != killed[item] {
			if wrong++; first < 0 {
				first = item
			}
		}
	}
	if err != nil || wrong > 0 || rows != l.items {
		r.t.Errorf("after %s %s of job %d: %d items are otherwise than ordered, item %d first; %d rows of attempts, want %d (%v)", step.action,
			l.pattern(step.first, step.step), id, wrong, first, rows, l.items, err)
	}
}

// readKilled reads which items of a job are killed, by their last attempt or by a mark, and counts its attempts.
func (r *crashRig) readKilled(id int64, killed []bool) (attempts int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, r.database)
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	clear(killed)
	rows, err := conn.Query(ctx, `SELECT item, item, 1 FROM attempt WHERE job = $1 AND again = 0
		UNION ALL SELECT first, last, step FROM item_mark WHERE job = $1 AND kind = 'killed'`, id)
	if err != nil {
		return 0, err
	}
	var first, last, step int
	_, err = pgx.ForEachRow(rows, []any{&first, &last, &step}, func() error {
		for item := first; item <= last; item += step {
			killed[item] = true
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	err = conn.QueryRow(ctx, `SELECT count(*) FROM attempt WHERE job = $1`, id).Scan(&attempts)
	return attempts, err
}
