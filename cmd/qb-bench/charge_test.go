package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/api"
	"qb/supervisor/serve"
	"qb/supervisor/store/pgcluster"
	"qb/supervisor/store/postgres"
	"qb/supervisor/wire/settings"
)

// The farm of the benchmark.
const (
	chargedHosts = 100
	chargedSlots = 16
	chargedJobs  = 100 // or one for each payer, if these are more
	chargedItems = 100 // of a job before the measurement
	chargedSlice = 1000
	chargedWarm  = 20 // slices that do not count
)

// BenchmarkChargedItem tells what a finished item costs whole, with and without what charging writes: its end is
// received over HTTP, goes through the farm, is committed to a durable Postgres with the start of the slot's next item,
// which its host is informed. It is one farm, whose commits are with charges or without in turns of a thousand items;
// two such turns are a pair, and -benchtime says how many. The cost is processor time of the supervisor and of
// Postgres' sessions; the hosts are simulated by a process of their own, which does not count. Reported are the median
// of the pairs' differences with its 95 % interval, and the same of bytes of WAL. What Postgres does in the background
// comes late, so it is reported for both together. The payers of one commit are stated too.
//
//	go test ./cmd/qb-bench -run '^$' -bench ChargedItem -benchtime 250x -timeout 30m
func BenchmarkChargedItem(b *testing.B) {
	for _, payers := range []int{1, 10, 100, 400} {
		b.Run(fmt.Sprintf("payers=%d", payers), func(b *testing.B) { benchChargedItem(b, payers) })
	}
}

func benchChargedItem(b *testing.B, payers int) {
	f := startChargedFarm(b, payers)
	f.finish(f.submit(chargedItems))
	f.verify(payers) // while everything was charged
	jobs := f.submit(1_000_000)
	done := f.turns.begin(f.postgres, f.wal)
	f.order(jobs, "unblock")
	for range chargedWarm {
		<-done
	}
	began, before := cpuOf(f.postgres), f.turns.backends.total()
	var pairs []chargedPair
	for b.Loop() {
		pairs = append(pairs, chargedPair{}.with(<-done).with(<-done))
	}
	all, sessions := cpuOf(f.postgres), f.turns.backends.total()-before
	f.turns.end()
	reportPairs(b, pairs)
	background := all.Self + all.Children - began.Self - began.Children - sessions.Seconds()
	b.ReportMetric(background*1e6/float64(sum(pairs, func(p chargedPair) int { return p[0].items + p[1].items })), "background-us/item")
}

// chargedFarm is a whole farm: supervisor in this process, Postgres and hosts of its own.
type chargedFarm struct {
	b        *testing.B
	database string
	postgres int
	wal      *pgx.Conn
	turns    *chargeTurns
	admin    *api.Client
	users    []*api.Client
}

func startChargedFarm(b *testing.B, payers int) *chargedFarm {
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
	db, err := postgres.Open(b.Context(), cluster.URL(), postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(db.Close)
	s := &chargedFarm{b: b, database: cluster.URL(), postgres: cluster.PID(), turns: &chargeTurns{Backing: db}}
	if s.wal, err = pgx.Connect(b.Context(), s.database); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.wal.Close(context.Background()) })
	url := s.supervise(dir, s.turns)
	for n := range payers {
		s.users = append(s.users, s.client(url, fmt.Sprint("user", n), api.User))
	}
	s.startHosts(url)
	return s
}

// supervise runs the supervisor until the benchmark ends.
func (s *chargedFarm) supervise(dir string, backing serve.Backing) (url string) {
	cfg := settings.DefaultConfig()
	cfg.Listen, cfg.State, cfg.Socket = "127.0.0.1:0", dir, filepath.Join(dir, "s")
	ready, ended := make(chan string, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		ended <- serve.Run(ctx, cfg, serve.Options{Store: backing, Version: "bench", Ready: func(url string) { ready <- url }})
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

func (s *chargedFarm) token(user string, role api.Role) string {
	var made api.TokenReply
	s.call(s.admin, api.CreateToken, nil, api.TokenRequest{User: user, Role: string(role)}, &made)
	return made.Token
}

func (s *chargedFarm) client(url, user string, role api.Role) *api.Client {
	c, err := api.NewClient(url, s.token(user, role))
	if err != nil {
		s.b.Fatal(err)
	}
	return c
}

func (s *chargedFarm) call(c *api.Client, e api.Endpoint, params api.Params, in, out any) {
	if err := c.Call(s.b.Context(), e, params, in, out); err != nil {
		s.b.Fatalf("%s: %v", e.ID, err)
	}
}

func (s *chargedFarm) startHosts(url string) {
	cmd := exec.Command(filepath.Join(built(s.b), "qb-bench"), "hosts", "-url", url, "-hosts", fmt.Sprint(chargedHosts), "-slots", fmt.Sprint(chargedSlots))
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

// submit adds the jobs, blocked, a user's after the other's.
func (s *chargedFarm) submit(items int) (jobs []int64) {
	cpus, width := 1, -1
	for n := range max(chargedJobs, len(s.users)) {
		var reply api.SubmitReply
		s.call(s.users[n%len(s.users)], api.Submit, nil, api.SubmitRequest{Name: "charged", Command: []string{"true"}, Status: "blocked",
			Range: fmt.Sprintf("1-%d", items), CPUs: &cpus, MaxCPUs: &width}, &reply)
		jobs = append(jobs, reply.Job)
	}
	return jobs
}

func (s *chargedFarm) order(jobs []int64, action string) {
	for _, id := range jobs {
		s.call(s.admin, api.OrderJob, api.Params{"job": fmt.Sprint(id), "action": action}, api.ActionRequest{}, nil)
	}
}

// finish waits until all items of the jobs have a durable end.
func (s *chargedFarm) finish(jobs []int64) {
	s.order(jobs, "unblock")
	counted := &benchRun{client: s.admin}
	for part := range slices.Chunk(jobs, 100) { // a list has its limit
		for ended := 0; ended < len(part)*chargedItems; time.Sleep(50 * time.Millisecond) {
			var err error
			if ended, err = counted.count(s.b.Context(), part); err != nil {
				s.b.Fatal(err)
			}
		}
	}
}

// verify looks that the books close and that every payer was charged, so that there is something to leave out.
func (s *chargedFarm) verify(payers int) {
	report, err := postgres.Audit(s.b.Context(), s.database)
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
