package sim

import (
	"bytes"
	"crypto/ed25519"
	stdjson "encoding/json"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/access/gate"
	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/settings"
	"qb/supervisor/wire/translate"
	"qb/worker/core"
)

// BenchmarkSync is the processor time of one sync with an end, from the agent's core through the farm and back, without
// HTTP and without the commit.
func BenchmarkSync(b *testing.B) {
	for _, slots := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprint(slots, "-slots"), func(b *testing.B) { newSyncCost(b, slots).run(b) })
	}
}

// Stages of a sync.
const (
	costCore = iota
	costEncode
	costDecode
	costStep
	costTake
	costAnswer
	costHear
	costStages
)

var costNames = [costStages]string{"core", "encode", "decode", "step", "take", "answer", "hear"}

// syncCost is one host of a farm that has no other, and all that a sync costs but HTTP.
type syncCost struct {
	farm  *farm.Farm
	agent *core.Core
	term  *api.Term
	now   time.Time
	since time.Duration // boot
	next  int           // of the items, to end
	items []core.Adopted

	tickets outbox.Ticket
	waiting map[outbox.Ticket]uint64
	spent   [costStages]time.Duration
	bytes   [2]int
	pending []core.SendSync
}

func newSyncCost(b *testing.B, slots int) *syncCost {
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	policy := settings.DefaultConfig().Policy()
	policy.MaxItems = 1_000_000_000
	s := &syncCost{
		farm: farm.New(policy), now: time.Unix(1_000_000, 0).UTC(), waiting: map[outbox.Ticket]uint64{},
		term: &api.Term{Farm: []byte(key.Public().(ed25519.PublicKey)), Lineage: "a", Epoch: 1, Began: 1,
			Signature: ed25519.Sign(key, api.TermMessage("a", 1, 1))},
		agent: core.NewCore(api.Sync{
			Protocol: api.Protocol, Host: "render-1", MachineID: "0123456789abcdef0123456789abcdef",
			BootID: "01234567-89ab-cdef-0123-456789abcdef", StateID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
			Incarnation: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Slots: slots, Cores: slots, Cluster: "/",
			Properties: map[string]string{"host.os": "linux"}, RunAs: "owner", Owners: &api.SyncOwners{LowestUID: 1000},
		}, core.DefaultLimits(), 1),
	}
	s.agentStep(core.HostMeasured{Memory: api.SyncMemory{Total: 512 << 30, Available: 400 << 30}})
	s.agentStep(core.Booted{})
	s.exchange(b)
	width := max(1, slots/2)
	for n := range 2 {
		s.farm.Step(s.now, message.JobSubmitted{Facts: facts.JobFacts{Name: "shot", User: "ann", Command: []string{"render", "-f", "QB_FRAME_NUMBER"},
			CPUs: max(1, slots/2), MaxCPUs: &width, Agenda: agenda.Spec{Range: "1-900000", Padding: 4}}, By: fmt.Sprint("ann", n)})
		if slots == 1 {
			break
		}
	}
	for range 200 {
		s.pass(50 * time.Millisecond)
		s.farm.Plan(s.now)
		s.take(b)
		s.agentStep(core.Ticked{})
		s.exchange(b)
	}
	if len(s.items) != slots {
		b.Fatalf("%d of %d run", len(s.items), slots)
	}
	return s
}

func (s *syncCost) pass(d time.Duration) {
	s.now, s.since = s.now.Add(d), s.since+d
	s.farm.Step(s.now, message.Ticked{})
}

func (s *syncCost) lap(stage int, at time.Duration) time.Duration {
	now := threadTime()
	s.spent[stage] += now - at
	return now
}

// agentStep has the core take an event, and starts what it orders.
func (s *syncCost) agentStep(ev core.Event) {
	for _, o := range s.agent.Step(s.since, ev) {
		switch o := o.(type) {
		case core.SendSync:
			s.pending = append(s.pending, o)
		case core.StartShim:
			s.started(o.Key, o.Item)
		case core.HandItem:
			s.started(o.Key, o.Item)
		}
	}
}

func (s *syncCost) started(key core.Key, item core.Item) {
	for n := range s.items {
		if s.items[n].Key == key {
			s.items[n].Attempt = item.Desired.Attempt
			return
		}
	}
	s.items = append(s.items, core.Adopted{Key: key, Attempt: item.Desired.Attempt})
}

// exchange sends what waits and has the farm answer, until the farm holds a sync.
func (s *syncCost) exchange(b *testing.B) {
	for len(s.pending) > 0 {
		at := threadTime()
		sync := s.pending[0].Sync
		s.pending = s.pending[1:]
		body, err := stdjson.Marshal(sync)
		must(b, err)
		s.bytes[0] += len(body)
		at = s.lap(costEncode, at)
		var in api.Sync
		must(b, gate.JSONInUTF8(gate.OneMeaning(gate.FastSyncs(stdjson.Unmarshal)))(body, &in))
		e, err := translate.ReadSync(&in, 1, s.now)
		must(b, err)
		at = s.lap(costDecode, at)
		s.tickets++
		e.Ticket = s.tickets
		s.waiting[e.Ticket] = in.Sequence
		s.farm.Step(s.now, e)
		s.lap(costStep, at)
		s.take(b)
	}
}

func (s *syncCost) take(b *testing.B) {
	at := threadTime()
	batch := s.farm.Take(s.now)
	at = s.lap(costTake, at)
	for _, r := range batch.Replies {
		sequence, known := s.waiting[r.Ticket]
		if !known {
			continue
		}
		if r.Err != nil {
			delete(s.waiting, r.Ticket)
			continue
		}
		delete(s.waiting, r.Ticket)
		reply, err := translate.AnswerSync(r.Body.(message.SyncReply), s.term, 0)
		must(b, err)
		var body bytes.Buffer
		encoder := stdjson.NewEncoder(&body)
		encoder.SetEscapeHTML(false)
		must(b, encoder.Encode(reply))
		s.bytes[1] += body.Len()
		at = s.lap(costAnswer, at)
		var heard api.SyncReply
		must(b, stdjson.NewDecoder(&body).Decode(&heard))
		at = s.lap(costHear, at)
		s.agentStep(core.Answered{Sequence: sequence, Reply: heard})
		at = s.lap(costCore, at)
	}
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

// end lets the next item end, after a look at its memory.
func (s *syncCost) end() {
	s.next++
	i, other := s.items[s.next%len(s.items)], s.items[(s.next+len(s.items)/2)%len(s.items)]
	s.agentStep(core.ItemStarted{Key: other.Key, Attempt: other.Attempt})
	s.agentStep(core.ShimMeasured{Key: other.Key, Memory: 1<<30 + int64(s.next%8)<<20, CPU: 6.25, Wall: 6.5})
	s.agentStep(core.ItemStarted{Key: i.Key, Attempt: i.Attempt})
	s.agentStep(core.ShimMeasured{Key: i.Key, Memory: 1 << 30, CPU: 12.25, Wall: 13.5})
	zero := 0
	s.agentStep(core.ItemEnded{Key: i.Key, Finished: api.Finished{Attempt: i.Attempt, Instance: i.Key.Instance,
		Outcome: "exit", ExitCode: &zero, Wall: 60, CPU: 59, PeakMemory: 1 << 30}})
}

func (s *syncCost) run(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s.spent, s.bytes = [costStages]time.Duration{}, [2]int{}
	before := cpuTime()
	for b.Loop() {
		s.pass(100 * time.Millisecond)
		at := threadTime()
		s.end()
		s.lap(costCore, at)
		s.exchange(b)
	}
	b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/float64(b.N)/1e3, "cpu-µs/op")
	for n, name := range costNames {
		b.ReportMetric(float64(s.spent[n].Nanoseconds())/float64(b.N)/1e3, name+"-µs")
	}
	b.ReportMetric(float64(s.bytes[0])/float64(b.N), "sync-B")
	b.ReportMetric(float64(s.bytes[1])/float64(b.N), "answer-B")
}

// threadTime is the processor time of this thread: a clock would count what else the machine does.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
