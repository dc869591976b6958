package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
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
	waiting  atomic.Int64
	finished context.CancelFunc
	wait     sync.WaitGroup
}

type crashJob struct {
	items, ticks int
	key          string
}

func (r *crashRig) submitJobs(seed uint64, most int) *crashJobs {
	ctx, cancel := context.WithCancel(context.Background())
	j := &crashJobs{rig: r, random: rand.New(rand.NewPCG(seed, 0x6a6f)), most: most, taken: map[int64]crashJob{}, finished: cancel}
	j.wait.Go(func() { j.submit(ctx) })
	j.wait.Go(func() { j.count(ctx) })
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
		job := crashJob{items: 1 + j.random.IntN(12), ticks: 1 + j.random.IntN(15), key: fmt.Sprintf("crash-%d", n)}
		cpus := 1 + j.random.IntN(4)
		req := api.SubmitRequest{
			Name: job.key, Range: "1-" + strconv.Itoa(job.items), CPUs: &cpus,
			Command: []string{"/bin/sh", j.rig.path("item.sh"), j.rig.path("truth"), strconv.Itoa(job.ticks)},
		}
		id := j.once(req, job.key)
		j.note(id, job)
		if j.random.IntN(4) == 0 {
			j.note(j.once(req, job.key), job)
			j.repeats++
		}
	}
}

// once submits until it is acknowledged, faults or not.
func (j *crashJobs) once(req api.SubmitRequest, key string) int64 {
	header := http.Header{"Idempotency-Key": {key}}
	for at := 0; ; at++ {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		var reply api.SubmitReply
		resp, err := j.rig.clients[at%len(j.rig.clients)].Open(ctx, api.Submit, nil, req, header)
		if err == nil {
			err = decodeAnswer(resp.Body, &reply)
			_ = resp.Body.Close()
		}
		cancel()
		switch {
		case err == nil:
			return reply.Job.ID
		case !unavailable(err):
			j.rig.t.Errorf("a submission is refused: %v", err)
			return 0
		}
		time.Sleep(50 * time.Millisecond)
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
	j.taken[id] = job
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
				n += job.Items.Pending + job.Items.Running + job.Items.Blocked
			}
			return n, nil
		}
	}
	return 0, err
}
