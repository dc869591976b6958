package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"qb/api"
)

// crashJobs submits jobs while things break. Each submission is repeated under its key until it is
// acknowledged; some are repeated after that.
type crashJobs struct {
	rig    *crashRig
	random *rand.Rand
	most   int // items that wait or run at a time

	mu       sync.Mutex
	taken    map[int64]crashJob // what was acknowledged
	twice    []string           // one key, two jobs
	repeats  int
	orders   map[string]int
	released int
	waiting  atomic.Int64
	finished context.CancelFunc
	wait     sync.WaitGroup
}

type crashJob struct {
	items, ticks int
	manner, key  string
	loaded       bool // its type is loadonce

	ordered crashOrdered
}

func (r *crashRig) submitJobs(seed uint64, most int) *crashJobs {
	ctx, cancel := context.WithCancel(context.Background())
	j := &crashJobs{rig: r, random: rand.New(rand.NewPCG(seed, 0x6a6f)), most: most, taken: map[int64]crashJob{}, orders: map[string]int{}, finished: cancel}
	j.wait.Go(func() { j.submit(ctx) })
	j.wait.Go(func() { j.giveOrders(ctx, seed) })
	j.wait.Go(func() { j.count(ctx) })
	j.wait.Go(func() { r.large.giveOrders(ctx) })
	r.t.Cleanup(cancel)
	return j
}

// stop returns when the last submission is acknowledged.
func (j *crashJobs) stop() {
	j.finished()
	j.wait.Wait()
}

func (j *crashJobs) submit(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		if sleep(ctx, time.Duration(200+j.random.IntN(600))*time.Millisecond) != nil {
			return
		}
		if j.waiting.Load() > int64(j.most) {
			continue
		}
		job := j.draw(n)
		cpus, retry := 1+j.random.IntN(4), 1
		req := api.SubmitRequest{
			Name: job.key, Range: "1-" + strconv.Itoa(job.items), CPUs: &cpus, Priority: &job.ordered.priority, RetryWork: &retry,
			Command: []string{"/bin/sh", j.rig.path("item.sh"), j.rig.path("truth"), strconv.Itoa(job.ticks), job.manner},
		}
		if job.loaded {
			retry = loadedRetries
			req.Type, req.Command, req.RetryDelay = "loadonce", j.rig.loadedOf(job), loadedRetryDelay
		}
		if width := j.random.IntN(13); width < 8 { // else as the site says: as wide as it can
			req.MaxCPUs = &width
		}
		id := j.once(req, job.key)
		j.note(id, job)
		if j.random.IntN(4) == 0 {
			j.note(j.once(req, job.key), job)
			j.repeats++
		}
	}
}

// draw is the n-th job.
func (j *crashJobs) draw(n int) crashJob {
	manners := []string{"plain", "plain", "plain", "fork", "fork", "stubborn", "fail", "orphan"}
	if j.rig.caged() { // else only the environment tells a stray
		manners = append(manners, "hide", "hide")
	}
	job := crashJob{items: 1 + j.random.IntN(12), ticks: 1 + j.random.IntN(15), key: fmt.Sprintf("crash-%d", n)}
	if n%3 == 0 { // so short and many that some are held ahead
		job.items, job.ticks = 20+j.random.IntN(20), 1
	}
	if job.loaded = j.random.IntN(5) < 2; job.loaded {
		manners = loadedManners
		if j.rig.caged() {
			manners = append(slices.Clone(loadedManners), "hide")
		}
	}
	job.manner = manners[j.random.IntN(len(manners))]
	job.ordered.priority = crashPriorities[j.random.IntN(len(crashPriorities))]
	return job
}

// once submits until it is acknowledged, faults or not: every third job by the command, as a script would.
func (j *crashJobs) once(req api.SubmitRequest, key string) int64 {
	if n, _ := strconv.Atoi(strings.TrimPrefix(key, "crash-")); n%3 == 0 {
		return j.rig.insistByCommand(req, key)
	}
	var reply api.SubmitReply
	if err := j.rig.insist(api.Submit, nil, req, key, &reply); err != nil {
		j.rig.t.Errorf("a submission is refused: %v", err)
	}
	return reply.Job
}

// insist repeats a request under its key until it is acknowledged or refused.
func (r *crashRig) insist(e api.Endpoint, params api.Params, in any, key string, out any) error {
	header := http.Header{"Idempotency-Key": {key}}
	for at := 0; ; at++ {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := r.clients[at%len(r.clients)].CallWith(ctx, e, params, in, out, header)
		cancel()
		if !unavailable(err) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// insistByCommand repeats qbsub under a key while its outcome is not known.
func (r *crashRig) insistByCommand(req api.SubmitRequest, key string) int64 {
	args := []string{"-key", key, "-retryfor", "7s", "-name", req.Name, "-range", req.Range, "-cpus", strconv.Itoa(*req.CPUs),
		"-priority", strconv.Itoa(*req.Priority), "-retrywork", strconv.Itoa(*req.RetryWork)}
	if req.Type != "" {
		args = append(args, "-type", req.Type, "-retryworkdelay", strconv.Itoa(req.RetryDelay))
	}
	if req.MaxCPUs != nil {
		args = append(args, "-max_cpus", strconv.Itoa(*req.MaxCPUs))
	}
	for {
		cmd := r.command(r.both(), "qbsub", append(args, req.Command...)...)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if id, parsed := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64); err == nil && parsed == nil {
			return id
		}
		if cmd.ProcessState.ExitCode() != 3 {
			r.t.Errorf("qbsub %v: %v\n%s%s", args, err, out, &said)
			return 0
		}
	}
}

func (j *crashJobs) note(id int64, job crashJob) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waiting.Add(int64(job.items))
	if was, ok := j.taken[id]; ok && was.key != job.key {
		j.twice = append(j.twice, fmt.Sprintf("job %d is given for the keys %s and %s", id, was.key, job.key))
	}
	for other, was := range j.taken {
		if was.key == job.key && other != id {
			j.twice = append(j.twice, fmt.Sprintf("key %s made jobs %d and %d", job.key, other, id))
		}
	}
	if _, ok := j.taken[id]; !ok { // a repeated submission knows nothing of the orders since
		j.taken[id] = job
	}
}

// count keeps the number of items that have not ended, so that the farm is never buried.
func (j *crashJobs) count(ctx context.Context) {
	for sleep(ctx, 500*time.Millisecond) == nil {
		if n, err := j.rig.unfinished(ctx); err == nil {
			j.waiting.Store(int64(n))
		}
	}
}

// unfinished counts the items that wait or run, as either supervisor reads them from the rows.
func (r *crashRig) unfinished(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var err error
	for _, c := range r.clients {
		var jobs []api.Job
		if err = c.Call(ctx, api.ListJobs, api.Params{"status": "active", "limit": "1000"}, nil, &jobs); err == nil {
			n := 0
			for _, job := range jobs {
				if !strings.HasPrefix(job.Name, crashLargeName) {
					n += job.Items.Pending + job.Items.Running + job.Items.Blocked
				}
			}
			return n, nil
		}
	}
	return 0, err
}
