package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/api"
	"qb/cmd/qb/find"
	"qb/internal/pause"
	"qb/worker/proc"
)

// endsHost is a simulated host that keeps the records of one job's items that ended on it within the last hours: every
// n-th, where n is the number of hosts.
type endsHost struct {
	name  string
	first int // item
	hosts int
	items int // of the job
	job   int64
	began time.Time     // of the boot and the first item
	sent  *atomic.Int64 // bytes
	up    *atomic.Int64 // hosts that were answered
}

// endsEach is how long each item of the job took. One began every endsEach on a host.
const endsEach = 30 * time.Second

// endsDone gives each item the attempt that did it.
const endsDone = `INSERT INTO attempt (job, item, number, host, boot, state_id, instance, kind, owner, slots, memory, state, again,
		cause, exit_code, wall, cpu, peak, started_at, ended_at, charged)
	SELECT j.id, i, 1, 'sim-' || i % $3::integer, 'bench', 'sim-' || i % $3::integer, 0, 'primary', j.owner, 1, 0, 'done', 0, '', 0, 30, 1, 0,
		$4::timestamptz + i / $3::integer * interval '30 seconds', $4::timestamptz + (i / $3::integer + 1) * interval '30 seconds', false
	FROM job j, generate_series(0, $2::integer - 1) AS i WHERE j.id = $1`

// TestAuditOfManyWorkers audits so many hosts with so many end records each: QB_ENDS=10000x100. -v tells what it took.
func TestAuditOfManyWorkers(t *testing.T) {
	hosts, each := 10, 2500 // more than two pages
	if text := os.Getenv("QB_ENDS"); text != "" {
		if _, err := fmt.Sscanf(text, "%dx%d", &hosts, &each); err != nil {
			t.Fatalf("QB_ENDS = %q: %v", text, err)
		}
	} else {
		t.Parallel()
	}
	f := startFarm(t, "-hosts", "0")
	began := time.Now().Add(-time.Duration(each+10) * endsEach).Truncate(time.Second)
	job := f.plantEnded(hosts*each, hosts, began)
	token, err := os.ReadFile(filepath.Join(f.state, "worker.token"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var playing sync.WaitGroup
	var bytesSent, up atomic.Int64
	for n := range hosts {
		client, err := api.NewClient(f.url, strings.TrimSpace(string(token)))
		if err != nil {
			t.Fatal(err)
		}
		h := endsHost{name: "sim-" + strconv.Itoa(n), first: n, hosts: hosts, items: hosts * each, job: job, began: began, sent: &bytesSent, up: &up}
		playing.Go(func() { h.play(ctx, client) })
	}
	defer playing.Wait()
	defer cancel()
	for since := time.Now(); up.Load() < int64(hosts); time.Sleep(100 * time.Millisecond) {
		if time.Since(since) > 5*time.Minute {
			t.Fatalf("%d of %d hosts are up", up.Load(), hosts)
		}
	}
	before := usedBy(f.cmd.Process.Pid)
	var cmd *exec.Cmd
	var report struct {
		Problems []any
		Workers  *struct{ Hosts, Answered, Records int }
	}
	var took time.Duration
	for tries := 0; tries < 10 && (report.Workers == nil || report.Workers.Hosts < hosts); tries++ { // until all are listed as up
		cmd = exec.Command("qb", "audit", "-workers", "-json", "-since", "240h")
		cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+f.state)
		var said bytes.Buffer
		cmd.Stderr = &said
		asked := time.Now()
		out, err := cmd.Output()
		took = time.Since(asked)
		if err != nil || json.Unmarshal(out, &report) != nil {
			t.Fatalf("qb audit: %v\n%s%s", err, out[:min(len(out), 4000)], said.String()[:min(said.Len(), 4000)])
		}
	}
	after, usage := usedBy(f.cmd.Process.Pid), cmd.ProcessState.SysUsage().(*syscall.Rusage)
	t.Logf("%d of %d workers answered with %d records, %.1f MB, in %.1f s; qb audit used %.1f s of CPU and %d MB, the supervisor %.1f s and %d MB at most (%d before)",
		report.Workers.Answered, hosts, report.Workers.Records, float64(bytesSent.Load())/1e6, took.Seconds(), cmd.ProcessState.UserTime().Seconds()+cmd.ProcessState.SystemTime().Seconds(),
		usage.Maxrss>>10, after.seconds-before.seconds, after.peak>>20, before.peak>>20)
	if report.Workers.Answered != hosts || report.Workers.Records != hosts*each || len(report.Problems) > 0 {
		t.Errorf("%d of %d workers answered with %d records, want %d; problems: %v", report.Workers.Answered, hosts, report.Workers.Records, hosts*each, report.Problems)
	}
}

// used is what a process has used: CPU seconds, and its peak resident bytes.
type used struct {
	seconds float64
	peak    int64
}

func usedBy(pid int) (u used) {
	p, _ := proc.Read(pid)
	u.seconds = float64(p.Ticks) / 100 // USER_HZ
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if _, text, found := strings.Cut(string(status), "VmHWM:"); found {
		_, _ = fmt.Sscanf(text, "%d kB", &u.peak)
	}
	u.peak <<= 10
	return u
}

// plantEnded makes a job whose items were all done, in turns by the hosts.
func (f *testFarm) plantEnded(items, hosts int, began time.Time) int64 {
	f.t.Helper()
	id, err := strconv.ParseInt(strings.TrimSpace(f.run(0, "qbsub", "-range", "1-"+strconv.Itoa(items), "-hosts", "nohost", "true")), 10, 64)
	if err != nil {
		f.t.Fatal(err)
	}
	f.run(0, "qbkill", strconv.FormatInt(id, 10))
	text, err := os.ReadFile(filepath.Join(f.state, "farm.json"))
	var file find.Farm
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	conn, err := pgx.Connect(f.t.Context(), file.DatabaseURL)
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, s := range []struct {
		sql  string
		args []any
	}{
		{endsDone, []any{id, items, hosts, began}}, {`DELETE FROM item_mark WHERE job = $1`, []any{id}},
		{`UPDATE job SET state = 'complete' WHERE id = $1`, []any{id}}, {`VACUUM ANALYZE attempt`, nil},
	} {
		if _, err := conn.Exec(f.t.Context(), s.sql, s.args...); err != nil {
			f.t.Fatal(err)
		}
	}
	return id
}

// play syncs until ctx ends, and ships its records to an audit that asks.
func (h endsHost) play(ctx context.Context, client *api.Client) {
	defer client.CloseIdle()
	sync := api.Sync{Protocol: api.Protocol, Host: h.name, MachineID: h.name, BootID: h.name, StateID: h.name, Incarnation: "1", Slots: 1, Cluster: "/",
		Memory: api.SyncMemory{Total: 64 << 30, Available: 64 << 30}, HoldSeconds: 10}
	asked := ""
	for ctx.Err() == nil {
		sync.Sequence++
		var reply api.SyncReply
		within, cancel := context.WithTimeout(ctx, time.Minute)
		err := client.Call(within, api.SyncWorker, nil, sync, &reply)
		cancel()
		if err != nil {
			_ = pause.For(ctx, time.Second)
			continue
		}
		if sync.Epoch == 0 {
			h.up.Add(1)
		}
		sync.Epoch, sync.Heard = reply.Epoch, reply.Answer
		if reply.AskEnds != "" && reply.AskEnds != asked {
			asked = reply.AskEnds
			h.ship(ctx, client, asked)
		}
		_ = pause.For(ctx, time.Second)
	}
}

// ship sends pages as a worker does: a clock check an hour and the records between, within a minute.
func (h endsHost) ship(ctx context.Context, client *api.Client, audit string) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	page := api.EndsPage{Host: h.name, StateID: h.name, Audit: audit, Since: h.began, Records: []api.EndRecord{}, Clocks: []api.ClockCheck{}}
	send := func() bool {
		var reply api.EndsReply
		text, _ := json.Marshal(page)
		h.sent.Add(int64(len(text)))
		err := client.Call(ctx, api.ShipEnds, nil, page, &reply)
		page.Records, page.Clocks = page.Records[:0], page.Clocks[:0]
		return err == nil && reply.Wanted
	}
	zero := 0
	for n := 0; h.first+n*h.hosts < h.items; n++ {
		at := float64(n+1) * endsEach.Seconds() // the boot was just before
		if n%(int(time.Minute/endsEach)) == 0 {
			page.Clocks = append(page.Clocks, api.ClockCheck{Boot: h.name, At: at, Time: h.began.Add(time.Duration(n) * endsEach), Error: 0.001})
		}
		page.Records = append(page.Records, api.EndRecord{Attempt: api.AttemptID{Job: h.job, Item: h.first + n*h.hosts, Number: 1}, Boot: h.name,
			Started: at, Ended: at + endsEach.Seconds() - 0.1, Outcome: "exit", ExitCode: &zero})
		if len(page.Records)+len(page.Clocks) >= 1000 && !send() {
			return
		}
	}
	page.Last = true
	send()
}
