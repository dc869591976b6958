package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor"
	"qb/supervisor/farm"
	"qb/supervisor/pgcluster"
	"qb/supervisor/store"
)

// The farm of the benchmark, on both sides. So many items that submissions and first plans are lost among them.
const (
	chargedHosts = 100
	chargedSlots = 16
	chargedJobs  = 100
	chargedItems = 200 // of a job in each round
)

// BenchmarkChargedItem tells what a finished item costs whole, with and without what charging writes: its end is
// received over HTTP, goes through the farm, is committed to a durable Postgres with the start of the slot's next item,
// which its host is told. Two farms take turns in one run; each round is 20,000 items of each. The cost is processor
// time of supervisor and Postgres; the hosts are simulated by a process of their own, which does not count.
//
//	go test ./cmd/qb -run '^$' -bench ChargedItem -benchtime 8x -timeout 30m
func BenchmarkChargedItem(b *testing.B) {
	for _, payers := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("payers=%d", payers), func(b *testing.B) { benchChargedItem(b, payers) })
	}
}

func benchChargedItem(b *testing.B, payers int) {
	plain, charged := startChargedSide(b, payers, false), startChargedSide(b, payers, true)
	plain.round()
	charged.round() // caches and plans
	plain.cost, plain.wall, charged.cost, charged.wall = nil, nil, nil, nil
	for n := 0; b.Loop(); n++ {
		first, second := plain, charged
		if n%2 == 1 {
			first, second = charged, plain
		}
		first.round()
		second.round()
	}
	each := func(of []time.Duration) float64 {
		return total(of).Seconds() * 1e6 / float64(len(of)*chargedJobs*chargedItems)
	}
	b.ReportMetric(each(plain.cost), "plain-cpu-us/item")
	b.ReportMetric(each(charged.cost), "charged-cpu-us/item")
	b.ReportMetric(added(plain.cost, charged.cost), "added-cpu-%")
	b.ReportMetric(added(plain.wall, charged.wall), "added-wall-%")
	pairs := make([]float64, len(plain.cost))
	for n := range pairs {
		pairs[n] = added(plain.cost[n:n+1], charged.cost[n:n+1])
	}
	slices.Sort(pairs)
	b.ReportMetric(pairs[len(pairs)/2], "median-cpu-%")
	b.ReportMetric(pairs[0], "least-cpu-%") // far from the median: the machine does other things
	b.ReportMetric(pairs[len(pairs)-1], "most-cpu-%")
	b.ReportMetric(0, "ns/op") // of a round of both: says nothing
	charged.verify(payers)
}

func total(list []time.Duration) (sum time.Duration) {
	for _, d := range list {
		sum += d
	}
	return sum
}

func added(plain, charged []time.Duration) float64 {
	return (total(charged).Seconds()/total(plain).Seconds() - 1) * 100
}

// uncharged is a store whose terms write nothing of what is charged.
type uncharged struct{ supervisor.Backing }

func (u uncharged) Lead(ctx context.Context) (store.Term, error) {
	term, err := u.Backing.Lead(ctx)
	return unchargedTerm{term}, err
}

type unchargedTerm struct{ store.Term }

func (u unchargedTerm) Commit(ctx context.Context, writes []farm.Write) error {
	kept := make([]farm.Write, 0, len(writes))
	for _, w := range writes {
		switch w := w.(type) {
		case farm.ChargeUsage:
			continue
		case farm.EndAttempt:
			w.Charge, w.Charged = farm.Charge{}, false
			kept = append(kept, w)
		default:
			kept = append(kept, w)
		}
	}
	return u.Term.Commit(ctx, kept)
}

// chargedSide is a whole farm of one of the two: supervisor in this process, Postgres and hosts of its own.
type chargedSide struct {
	b          *testing.B
	database   string
	postgres   int
	admin      *api.Client
	users      []*api.Client
	cost, wall []time.Duration // of each round
}

func startChargedSide(b *testing.B, payers int, charges bool) *chargedSide {
	dir, err := os.MkdirTemp("", "qb")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // the database's own user must enter
		b.Fatal(err)
	}
	cluster, err := pgcluster.Start(b.Context(), pgcluster.Config{State: dir})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := cluster.Stop(context.Background()); err != nil {
			b.Error(err)
		}
	})
	db, err := store.Open(b.Context(), cluster.URL(), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(db.Close)
	s := &chargedSide{b: b, database: cluster.URL(), postgres: cluster.PID()}
	var backing supervisor.Backing = db
	if !charges {
		backing = uncharged{db}
	}
	url := s.supervise(dir, backing)
	for n := range payers {
		s.users = append(s.users, s.client(url, fmt.Sprint("user", n), api.User))
	}
	s.startHosts(url)
	return s
}

// supervise runs the supervisor until the benchmark ends.
func (s *chargedSide) supervise(dir string, backing supervisor.Backing) (url string) {
	cfg := supervisor.DefaultConfig()
	cfg.Listen, cfg.State, cfg.Socket = "127.0.0.1:0", dir, filepath.Join(dir, "s")
	ready, ended := make(chan string, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		ended <- supervisor.Run(ctx, cfg, supervisor.Options{Store: backing, Version: "bench", Ready: func(url string) { ready <- url }})
	}()
	s.b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			s.b.Error(err)
		}
	})
	select {
	case url = <-ready:
	case err := <-ended:
		ended <- nil
		s.b.Fatal(err)
	}
	var err error
	if s.admin, err = api.NewClient("unix:"+cfg.Socket, ""); err != nil {
		s.b.Fatal(err)
	}
	return url
}

func (s *chargedSide) token(user string, role api.Role) string {
	var made api.TokenReply
	s.call(s.admin, api.CreateToken, nil, api.TokenRequest{User: user, Role: string(role)}, &made)
	return made.Token
}

func (s *chargedSide) client(url, user string, role api.Role) *api.Client {
	c, err := api.NewClient(url, s.token(user, role))
	if err != nil {
		s.b.Fatal(err)
	}
	return c
}

func (s *chargedSide) call(c *api.Client, e api.Endpoint, params api.Params, in, out any) {
	if err := c.Call(s.b.Context(), e, params, in, out); err != nil {
		s.b.Fatalf("%s: %v", e.ID, err)
	}
}

func (s *chargedSide) startHosts(url string) {
	cmd := exec.Command("qb", "bench-hosts", "-url", url, "-hosts", fmt.Sprint(chargedHosts), "-slots", fmt.Sprint(chargedSlots))
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "QB_TOKEN="+s.token("hosts", api.Worker)), io.Discard, os.Stderr
	until, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.b.Fatal(err)
	}
	s.b.Cleanup(func() {
		until.Close()
		if err := cmd.Wait(); err != nil {
			s.b.Errorf("the simulated hosts: %v", err)
		}
	})
}

// round submits a set of jobs, then measures until all their items have a durable end.
func (s *chargedSide) round() {
	cpus, width := 1, -1
	jobs := make([]int64, chargedJobs)
	for n := range jobs {
		var reply api.SubmitReply
		s.call(s.users[n%len(s.users)], api.Submit, nil, api.SubmitRequest{Name: "charged", Command: []string{"true"}, Status: "blocked",
			Range: fmt.Sprintf("1-%d", chargedItems), CPUs: &cpus, MaxCPUs: &width}, &reply)
		jobs[n] = reply.Job.ID
	}
	began, before := time.Now(), s.busy()
	for _, id := range jobs {
		s.call(s.admin, api.OrderJob, api.Params{"job": fmt.Sprint(id), "action": "unblock"}, api.ActionRequest{}, nil)
	}
	for counted := (&bench{client: s.admin}); ; pause(s.b.Context(), 50*time.Millisecond) {
		ended, err := counted.count(s.b.Context(), jobs)
		if err != nil {
			s.b.Fatal(err)
		}
		if ended == chargedJobs*chargedItems {
			break
		}
	}
	s.wall, s.cost = append(s.wall, time.Since(began)), append(s.cost, s.busy()-before)
}

// busy is what this process and the side's Postgres have had of processors.
func (s *chargedSide) busy() time.Duration {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		s.b.Fatal(err)
	}
	u := cpuOf(s.postgres)
	return time.Duration(own.Utime.Nano()+own.Stime.Nano()) + time.Duration((u.self+u.children)*float64(time.Second))
}

// verify looks that the books close and that every payer was charged, so that the other side left out something.
func (s *chargedSide) verify(payers int) {
	report, err := store.Audit(s.b.Context(), s.database)
	if err != nil || len(report.Problems) > 0 {
		s.b.Fatalf("audit: %v %+v", err, report.Problems)
	}
	var shares []api.Share
	s.call(s.admin, api.ListShares, nil, nil, &shares)
	paid := 0
	for _, share := range shares {
		if share.Usage.Total > 0 {
			paid++
		}
	}
	if paid != payers {
		s.b.Fatalf("%d have paid, want %d", paid, payers)
	}
}
