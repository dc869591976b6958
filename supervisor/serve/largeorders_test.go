package serve

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/pgcluster"
	"qb/supervisor/store/postgres"
	"qb/supervisor/wire/settings"
)

// weighed is a store whose commits are weighed, after them: a commit has a deadline.
type weighed struct {
	Backing
	mu      sync.Mutex
	commits [][]facts.Write // since taken
}

type volume struct {
	commits        int
	rows, bytes    int // of the largest commit of each
	ordered, marks int // rows of orders and of marks, of all commits
}

func (w *weighed) Lead(ctx context.Context) (store.Term, error) {
	term, err := w.Backing.Lead(ctx)
	return &weighedTerm{term, w}, err
}

type weighedTerm struct {
	store.Term
	w *weighed
}

func (t *weighedTerm) Commit(ctx context.Context, writes []facts.Write) error {
	t.w.mu.Lock()
	t.w.commits = append(t.w.commits, writes)
	t.w.mu.Unlock()
	return t.Term.Commit(ctx, writes)
}

func (v *volume) weigh(writes []facts.Write) {
	rows, bytes := 0, 0
	for _, write := range writes {
		text, _ := json.Marshal(write)
		bytes += len(text)
		switch write := write.(type) {
		case facts.ChangeMarks:
			rows += len(write.Remove) + len(write.Add)
			v.marks += len(write.Remove) + len(write.Add)
		case facts.ReopenAttempts:
			rows += len(write.Attempts)
		case facts.PutAction, facts.DropAction:
			rows++
			v.ordered++
		default:
			rows++
		}
	}
	v.commits, v.rows, v.bytes = v.commits+1, max(v.rows, rows), max(v.bytes, bytes)
}

// taken is what was committed since it was last asked.
func (w *weighed) taken() (sum volume) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, writes := range w.commits {
		sum.weigh(writes)
	}
	w.commits = nil
	return sum
}

// endedAttempts gives each item of the job an attempt that ended in that state, and the job its end.
const endedAttempts = `INSERT INTO attempt (job, item, number, host, boot, state_id, instance, kind, owner, slots, memory, state, again,
		reason, cause, exit_code, wall, cpu, peak, started_at, ended_at, charged)
	SELECT $1::bigint, i, 1, 'old', 'b', 's', 0, 'primary', 'u2', 1, 0, $3::text, 0, CASE $3::text WHEN 'done' THEN '' ELSE 'exit' END, '', CASE $3::text WHEN 'done' THEN 0 ELSE 1 END, 1, 1, 0,
		now() - interval '1 hour', now() - interval '59 minutes', false FROM generate_series(0, $2::integer - 1) AS i`

// TestLargeOrders applies each action to a job of QB_ORDER_ITEMS items, on a real Postgres, while another user's items
// run. No commit exceeds its bound and no term ends. With -v it prints how long other users waited; `make measure
// WHAT=orders` runs it at supervisor_max_items.
func TestLargeOrders(t *testing.T) {
	items := 6000
	if text := os.Getenv("QB_ORDER_ITEMS"); text != "" {
		items, _ = strconv.Atoi(text)
	}
	cluster := runCluster(t, pgcluster.Config{State: openDir(t)})
	begin := func() (*rig, *weighed, *api.Client) {
		db, err := postgres.Open(t.Context(), cluster.URL(), postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		w := &weighed{Backing: db}
		r := startRig(t, func(_ *settings.Config, o *Options) { o.Store.(*faultyStore).Backing = w })
		return r, w, r.client("u2", api.User)
	}
	r, w, u2 := begin()
	var ids []int64
	for range 2 {
		reply := must[api.SubmitReply](t, u2, api.Submit, nil,
			api.SubmitRequest{Command: []string{"x"}, Range: "1-" + strconv.Itoa(items), Hosts: []string{"nohost"}})
		ids = append(ids, reply.Job)
	}
	w.taken()
	pattern := "1-" + strconv.Itoa(items) + "x2"
	ordered := func(r *rig, w *weighed, u2 *api.Client, action, names string, id int64, want int, pieces bool) {
		t.Helper()
		giveLarge(t, r, w, u2, largeOrder{action, names, id, want, pieces})
	}
	ordered(r, w, u2, "kill", pattern, ids[0], items/2, false)
	ordered(r, w, u2, "retry", pattern, ids[0], items/2, false)
	ordered(r, w, u2, "kill", "", ids[0], items, false)
	ordered(r, w, u2, "kill", "", ids[1], items, false)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for n, state := range []string{"failed", "done"} {
		if _, err := conn.Exec(t.Context(), endedAttempts, ids[n], items, state); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), `DELETE FROM item_mark WHERE job = ANY($1)`, ids); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(),
		`UPDATE job SET state = CASE id WHEN $1 THEN 'failed' ELSE 'complete' END WHERE id = ANY($2)`,
		ids[0], ids); err != nil {
		t.Fatal(err)
	}
	r, w, u2 = begin()
	ordered(r, w, u2, "retry", "", ids[0], items, true)
	ordered(r, w, u2, "redo", "", ids[1], items, true)
	ordered(r, w, u2, "kill", "", ids[0], items, false)
	ordered(r, w, u2, "requeue", "", ids[0], items, true)
	if n := r.store.terms.Load(); n != 1 {
		t.Errorf("the orders took %d terms", n)
	}
}

type largeOrder struct {
	action, items string
	job           int64
	want          int
	pieces        bool // it takes more than one commit
}

// giveLarge gives an order while another user's items run, and looks at what it took.
func giveLarge(t *testing.T, r *rig, w *weighed, u2 *api.Client, o largeOrder) {
	t.Helper()
	others := r.otherItems()
	began := time.Now()
	var reply api.ActionReply
	p := params("job", o.job, "action", o.action)
	if err := u2.Call(t.Context(), api.OrderJob, p, api.ActionRequest{Items: o.items}, &reply); err != nil {
		t.Fatalf("%s of %d items: %v", o.action, o.want, err)
	}
	answered := time.Since(began)
	for reply.Order != 0 {
		job := must[api.Job](t, u2, api.GetJob, params("job", o.job), nil)
		if last := job.Orders[len(job.Orders)-1]; last.State == "done" {
			reply.Done, reply.Order = last.Done, 0
		}
		time.Sleep(20 * time.Millisecond)
	}
	took := time.Since(began)
	ran, longest := others()
	is := w.taken()
	t.Logf(
		"%-8s %8d items: answered after %5.2f s, done after %6.2f s; largest commit %5d rows, %7d bytes; %4d commits, %d rows of marks; others ended %d items and stood still for %.2f s at most",
		o.action, o.want, answered.Seconds(), took.Seconds(), is.rows, is.bytes, is.commits, is.marks, ran, longest.Seconds())
	if reply.Affected != o.want || reply.Done != o.want {
		t.Errorf("%s: %d affected, %d done, want %d", o.action, reply.Affected, reply.Done, o.want)
	}
	if is.rows > 5000 || is.bytes > 16<<20 || is.marks > 20 || o.pieces != (is.ordered > 1) {
		t.Errorf("%s: %d rows, %d bytes in one commit, %d rows of marks, %d of orders", o.action, is.rows, is.bytes, is.marks,
			is.ordered)
	}
}

// otherItems runs another user's items until the func that it returns is called, which tells how many ended and how
// long the longest wait for the next one was.
func (r *rig) otherItems() func() (int, time.Duration) {
	u1 := r.client("u1", api.User)
	job := must[api.SubmitReply](r.t, u1, api.Submit, nil,
		api.SubmitRequest{Command: []string{"x"}, Range: "1-1000000", CPUs: ptr(2)}).Job
	worker := r.agent("h"+strconv.FormatInt(job, 10), 2)
	worker.until("the other user's items run", func() bool { return len(worker.running) == 2 })
	stop, told := make(chan struct{}), make(chan struct{})
	ran, longest := 0, time.Duration(0)
	go func() {
		defer close(told)
		for {
			select {
			case <-stop:
				return
			default:
			}
			began := time.Now()
			worker.finish(0)
			for ran += 2; len(worker.running) == 0; {
				worker.beat(0.05)
			}
			longest = max(longest, time.Since(began))
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return func() (int, time.Duration) {
		close(stop)
		<-told
		must[api.ActionReply](r.t, u1, api.OrderJob, params("job", job, "action", "kill"), nil)
		worker.until("the other user's items end", func() bool { return len(worker.running) == 0 })
		worker.beat(0)
		return ran, longest
	}
}
