package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
)

// crashOrdered is what people ordered of a job, as far as it was acknowledged.
type crashOrdered struct {
	priority int
	unsure   bool      // whether a change of the priority was made is not known
	kill     bool      // some of its items were killed
	killed   time.Time // when the whole job was; zero if it was opened again after that
}

var crashPriorities = []int{10, 100, 100, 1000}

// crashOrder is one kind of order; weight says how often it is drawn.
type crashOrder struct {
	name   string
	weight int
	do     func(j *crashJobs, random *rand.Rand, id int64, key string)
}

var crashOrders = []crashOrder{
	{"kill", 2, (*crashJobs).kill},
	{"kill-items", 3, (*crashJobs).killItems},
	{"priority", 4, (*crashJobs).setPriority},
	{"max-cpus", 5, (*crashJobs).setWidth},
	{"block", 2, plainOrder("block")},
	{"unblock", 4, plainOrder("unblock")},
	{"interrupt", 3, plainOrder("interrupt")},
	{"preempt", 2, plainOrder("preempt")},
	{"retry", 3, reopening("retry")},
	{"requeue", 1, reopening("requeue")},
	{"redo", 1, reopening("redo")},
	{"lock-host", 1, (*crashJobs).lockHost},
	{"unlock-host", 2, (*crashJobs).unlockHost},
}

// giveOrders changes what was submitted lately, while things break.
func (j *crashJobs) giveOrders(ctx context.Context, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0x6f72))
	total := 0
	for _, o := range crashOrders {
		total += o.weight
	}
	for n := 0; sleep(ctx, time.Duration(200+random.IntN(1000))*time.Millisecond) == nil; n++ {
		id := j.some(random)
		if id == 0 {
			continue
		}
		draw := random.IntN(total)
		for _, o := range crashOrders {
			if draw -= o.weight; draw < 0 {
				o.do(j, random, id, fmt.Sprintf("order-%d", n))
				j.mu.Lock()
				j.orders[o.name]++
				j.mu.Unlock()
				break
			}
		}
	}
}

// some is one of the last jobs, 0 before the first.
func (j *crashJobs) some(random *rand.Rand) int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	ids := make([]int64, 0, len(j.taken))
	for id := range j.taken {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return 0
	}
	slices.Sort(ids)
	recent := ids[max(0, len(ids)-8):]
	return recent[random.IntN(len(recent))]
}

func (j *crashJobs) remember(id int64, change func(o *crashOrdered)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	job := j.taken[id]
	change(&job.ordered)
	j.taken[id] = job
}

// order says whether it was taken. A job that has ended refuses some.
func (j *crashJobs) order(id int64, action, items, key string) bool {
	params := jobParam(id)
	params["action"] = action
	var reply api.ActionReply
	err := j.rig.insist(api.OrderJob, params, api.ActionRequest{Items: items}, key, &reply)
	if err != nil && !isKind(err, api.KindConflict) {
		j.rig.t.Errorf("%s of job %d is refused: %v", action, id, err)
	}
	return err == nil
}

func plainOrder(action string) func(*crashJobs, *rand.Rand, int64, string) {
	return func(j *crashJobs, _ *rand.Rand, id int64, key string) { j.order(id, action, "", key) }
}

// reopening lets ended items run again, so that an earlier kill of the job no longer says how it ends.
func reopening(action string) func(*crashJobs, *rand.Rand, int64, string) {
	return func(j *crashJobs, _ *rand.Rand, id int64, key string) {
		j.remember(id, func(o *crashOrdered) { o.killed = time.Time{} })
		j.order(id, action, "", key)
	}
}

// kill is what nothing may start after, once it is acknowledged.
func (j *crashJobs) kill(_ *rand.Rand, id int64, key string) {
	j.remember(id, func(o *crashOrdered) { o.kill = true })
	if j.order(id, "kill", "", key) {
		j.remember(id, func(o *crashOrdered) { o.killed = time.Now() })
	}
}

func (j *crashJobs) killItems(random *rand.Rand, id int64, key string) {
	j.mu.Lock()
	items := j.taken[id].items
	j.mu.Unlock()
	j.remember(id, func(o *crashOrdered) { o.kill = true })
	j.order(id, "kill", strconv.Itoa(1+random.IntN(items)), key)
}

func (j *crashJobs) modify(id int64, req api.ModifyRequest, key string) bool {
	var reply api.SubmitReply
	err := j.rig.insist(api.Modify, jobParam(id), req, key, &reply)
	if err != nil && !isKind(err, api.KindConflict) {
		j.rig.t.Errorf("a change of job %d is refused: %v", id, err)
	}
	return err == nil
}

func (j *crashJobs) setPriority(random *rand.Rand, id int64, key string) {
	priority := crashPriorities[random.IntN(len(crashPriorities))]
	taken := j.modify(id, api.ModifyRequest{Priority: &priority}, key)
	j.remember(id, func(o *crashOrdered) {
		if taken {
			o.priority, o.unsure = priority, false
		} else {
			o.unsure = true // it may have been made, unheard, before the job ended
		}
	})
}

func (j *crashJobs) setWidth(random *rand.Rand, id int64, key string) {
	width := random.IntN(14) - 1
	j.modify(id, api.ModifyRequest{MaxCPUs: &width}, key)
}

func (j *crashJobs) lockHost(random *rand.Rand, _ int64, key string) {
	j.setLock(api.LockHost, random.IntN(len(j.rig.agents)), key)
}

func (j *crashJobs) unlockHost(random *rand.Rand, _ int64, key string) {
	j.setLock(api.UnlockHost, random.IntN(len(j.rig.agents)), key)
}

func (j *crashJobs) setLock(e api.Endpoint, host int, key string) {
	var reply api.HostReply
	err := j.rig.insist(e, api.Params{"host": j.rig.agents[host].name}, nil, key, &reply)
	if err != nil && !isKind(err, api.KindConflict) && !isKind(err, api.KindNotFound) {
		j.rig.t.Errorf("%s is refused: %v", e.ID, err)
	}
}

// release undoes what keeps items waiting: locks, blocks of people, and items held after losses. It is
// called again until nothing waits.
func (j *crashJobs) release() {
	r := j.rig
	j.released++
	for host := range r.agents {
		j.setLock(api.UnlockHost, host, fmt.Sprintf("release-%d-%d", j.released, host))
	}
	at, err := api.Locate(r.t.Context(), r.clients)
	if err != nil {
		return
	}
	var jobs []api.Job
	if err := r.clients[at].Call(r.t.Context(), api.ListJobs, api.Params{"status": "active", "limit": "1000"}, nil, &jobs); err != nil {
		return
	}
	for _, job := range jobs {
		if job.Items.Blocked > 0 || job.Status == "blocked" {
			j.order(job.ID, "unblock", "", fmt.Sprintf("release-%d-job-%d", j.released, job.ID))
		}
	}
}

// checkOrders wants each acknowledged order to have was: the last priority, and nothing given after a kill.
func (r *crashRig) checkOrders(id facts.JobID, job crashJob, priority int, rows map[itemOf][]crashRow) {
	o := job.ordered
	if !o.unsure && priority != o.priority {
		r.t.Errorf("job %d has priority %d, and %d was acknowledged last", id, priority, o.priority)
	}
	for item := range job.items {
		for _, row := range rows[itemOf{id, facts.ItemNo(item)}] {
			if !o.killed.IsZero() && row.started.After(o.killed) {
				r.t.Errorf("attempt %d of item %d of job %d was given at %s, and the kill of the job was acknowledged at %s",
					row.number, item, id, row.started.Format(time.StampMilli), o.killed.Format(time.StampMilli))
			}
		}
	}
}
