package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/agenda"
	"qb/supervisor/farm"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
	"qb/supervisor/store"
	"qb/supervisor/store/pgcluster"
	"qb/supervisor/store/postgres"
)

// The farm of the benchmark: on each side as many hosts, with jobs of their own.
const (
	profiledHosts = 10
	profiledSlots = 10
	profiledSlice = 1000 // items of a turn
)

// BenchmarkProfiledItem tells what a finished item costs the supervisor and Postgres, with a profile and without, from the step of its
// end to the durable commit with the next start, a hundred items in each commit. It is one farm; a thousand items of jobs with
// profiles and a thousand of jobs without are measured in turns, and -benchtime says how many such pairs. The agents' words are made
// up in this process and cost both sides the same. In items=1 each item is a whole job, submitted, planned and ended, which is when a
// profile's row is written.
//
//	go test ./cmd/qb-bench -run '^$' -bench ProfiledItem -benchtime 200x
func BenchmarkProfiledItem(b *testing.B) {
	for _, c := range []struct{ items, profiles int }{{100_000, 1}, {100_000, 20}, {1, 1}, {1, 100}} {
		b.Run(fmt.Sprintf("items=%d/profiles=%d", c.items, c.profiles), func(b *testing.B) {
			f := startProfiledFarm(b, c.items, c.profiles)
			for range 4 {
				f.turn(false)
				f.turn(true)
			}
			var pairs []chargedPair
			for first := false; b.Loop(); first = !first { // first one, then the other comes first
				pairs = append(pairs, chargedPair{}.with(f.turn(first)).with(f.turn(!first)))
			}
			reportPairs(b, pairs)
		})
	}
}

// profiledFarm is the farm's own code on a Postgres of its own.
type profiledFarm struct {
	b               *testing.B
	farm            *farm.Farm
	term            store.Term
	turns           *chargeTurns // reads what there was of everything
	now             time.Time
	items, profiles int
	sequence        uint64
	jobs            int
	running         map[facts.HostID][]facts.StartAttempt
}

func startProfiledFarm(b *testing.B, items, profiles int) *profiledFarm {
	dir := must1(os.MkdirTemp("", "qb"))
	b.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // the database's own user must enter
		b.Fatal(err)
	}
	ctx := context.Background()
	cluster := must1(pgcluster.Start(ctx, pgcluster.Config{State: dir}))
	b.Cleanup(func() { _ = cluster.Stop(ctx) })
	db := must1(postgres.Open(ctx, cluster.URL(), postgres.Options{}))
	b.Cleanup(db.Close)
	wal := must1(pgx.Connect(ctx, cluster.URL()))
	b.Cleanup(func() { wal.Close(ctx) })
	f := &profiledFarm{b: b, term: must1(db.Lead(ctx)), now: time.Now(), items: items, profiles: profiles, running: map[facts.HostID][]facts.StartAttempt{},
		turns: &chargeTurns{backends: &backends{postgres: cluster.PID(), seen: map[int]time.Duration{}}, wal: wal}}
	b.Cleanup(func() { f.term.Close(ctx) })
	f.farm = must1(farm.Rebuild(profiledPolicy(), must1(f.term.Load(ctx)), f.now))
	for _, registers := range []bool{true, false} {
		f.sync(false, registers)
		f.sync(true, registers)
		f.commit()
	}
	if items > 1 {
		f.submit(false, 20)
		f.submit(true, 20)
		f.commit()
	}
	return f
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func profiledPolicy() message.Policy {
	return message.Policy{
		Share: planner.SharePolicy{Mode: "jobs", Preempt: "aggressive", DefaultMaxCPUs: -1, MaxCPUsLimit: 1000, ShareUnit: "slots", Promote: true,
			Order: []string{"priority", "cluster", "fairshare", "vtime", "age", "id"}},
		PrimaryPreempt: "passive", DefaultPriority: 9999, MaxPriority: 9999, DefaultCluster: "/", MaxItems: 1_000_000,
		Liveness: time.Hour, ExecutionLease: 2 * time.Hour, KillGrace: 10 * time.Second, LeaseMargin: 5 * time.Second,
		Memory: items.MemoryPolicy{Default: 1 << 20, Placement: "best_fit", Quantile: 1, Margin: 1.1},
	}
}

// group is that of a side's hosts.
func group(profiled bool) string { return fmt.Sprintf("side%d", map[bool]int{true: 1}[profiled]) }

func (f *profiledFarm) submit(profiled bool, jobs int) {
	for range jobs {
		f.jobs++
		row := facts.JobFacts{Name: "shot", User: "ann", Command: []string{"true"}, CPUs: profiledHosts * profiledSlots / jobs, Groups: []string{group(profiled)},
			Agenda: agenda.Spec{Range: fmt.Sprintf("1-%d", f.items)}}
		if profiled {
			row.Profile = fmt.Sprint("render:shot", f.jobs%f.profiles)
		}
		f.farm.Step(f.now, message.JobSubmitted{Ticket: 7, Facts: row, By: "ann"})
	}
}

// sync lets all hosts of a side say that what they run has ended.
func (f *profiledFarm) sync(profiled, registers bool) (ended int) {
	f.sequence++
	for n := range profiledHosts {
		id := facts.HostID(fmt.Sprint(group(profiled), n))
		e := message.WorkerSynced{Incarnation: "i", Sequence: f.sequence, RunAs: "owner", Registers: registers, Available: 1 << 40,
			Host: facts.HostFacts{ID: id, MachineID: string(id), Boot: "b", StateID: string(id), Slots: profiledSlots, Memory: 1 << 40, Cluster: "/", Groups: []string{group(profiled)}}}
		for _, s := range f.running[id] {
			code := 0
			e.Finished = append(e.Finished, message.ReportedEnd{Attempt: s.Attempt.AttemptID, Outcome: "exit", ExitCode: &code, Wall: 10, CPU: 10, Peak: 300 << 20})
			ended++
		}
		f.running[id] = nil
		f.farm.Step(f.now, e)
	}
	return ended
}

// commit plans and makes durable what there is.
func (f *profiledFarm) commit() {
	for range 10 {
		f.farm.Plan(f.now)
		batch := f.farm.Take(f.now)
		if len(batch.Writes) == 0 {
			return
		}
		for _, r := range batch.Replies {
			if r.Err != nil {
				f.b.Fatal(r.Err)
			}
		}
		for _, w := range batch.Writes {
			if s, starts := w.(facts.StartAttempt); starts {
				f.running[s.Attempt.Host] = append(f.running[s.Attempt.Host], s)
			}
		}
		if err := f.term.Commit(context.Background(), batch.Writes); err != nil {
			f.b.Fatal(err)
		}
	}
}

// turn ends the items of a turn on one side.
func (f *profiledFarm) turn(profiled bool) chargedTurn {
	t, mark := chargedTurn{charged: profiled}, f.turns.read(context.Background())
	for t.items < profiledSlice {
		f.now = f.now.Add(20 * time.Second)
		if f.items == 1 {
			f.submit(profiled, profiledHosts*profiledSlots)
			f.commit()
		}
		ended := f.sync(profiled, false)
		if ended < profiledHosts*profiledSlots/2 {
			f.b.Fatalf("%d items ran", ended)
		}
		f.commit()
		t.items, t.commits = t.items+ended, t.commits+1
	}
	after := f.turns.read(context.Background())
	t.cost, t.wal = after.cost-mark.cost, after.wal-mark.wal
	return t
}
