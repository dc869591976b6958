package term

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"qb/agenda"
	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/farm/quota"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/settings"
)

// slowFarm is a farm whose views take their time, as those of a large one do.
type slowFarm struct {
	Machine
	takes time.Duration
	views int
	sync  time.Duration // that a report of a worker takes
}

func (s *slowFarm) Step(now time.Time, e message.Event) {
	if _, is := e.(message.WorkerSynced); is {
		time.Sleep(s.sync)
	}
	s.Machine.Step(now, e)
}

func (s *slowFarm) View(now time.Time) *message.View {
	s.views++
	time.Sleep(s.takes)
	return s.Machine.View(now)
}

// turned is a loop over a farm, on a database that is done at once, with what its readers see.
type turned struct {
	*Loop
	t     testing.TB
	shown atomic.Pointer[Picture] // what listings show
	stop  func()
}

func turn(t testing.TB, m Machine) *turned {
	turned := &turned{t: t}
	l := NewLoop(m, 1, nil, NewClock(time.Now(), SinceBoot()), func(out Display, _ []facts.Write) {
		if out.View != nil {
			turned.shown.Store(NewPicture(out.View))
		} else if p := turned.shown.Load(); p != nil {
			p.Enter(out.Part)
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	go func() {
		for {
			select {
			case b := <-l.commits:
				l.done <- b
			case <-ctx.Done():
				return
			}
		}
	}()
	turned.Loop, turned.stop = l, func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	return turned
}

// ask gives the farm an event and waits for its answer.
func (l *turned) ask(event func(outbox.Ticket) message.Event) any {
	l.t.Helper()
	body, err := l.Ask(l.t.Context(), event)
	if err != nil {
		l.t.Fatal(err)
	}
	return body
}

func (l *turned) submit() facts.JobView {
	row := facts.JobFacts{Name: "probe", User: "u", Command: []string{"true"}, CPUs: 1, Agenda: agenda.Spec{Range: "1-3"}}
	return l.ask(func(t outbox.Ticket) message.Event {
		return message.JobSubmitted{Ticket: t, Facts: row, Blocked: true, By: "u"}
	}).(message.JobReply).Job
}

func (l *turned) order(id facts.JobID, a facts.Action) {
	l.ask(func(t outbox.Ticket) message.Event { return message.JobAction{Ticket: t, Job: id, Action: a, By: "u"} })
}

// connect lets a host of 16 slots greet and report.
func connect(m Machine, name string) {
	now := time.Now()
	e := message.WorkerSynced{Incarnation: "i", Sequence: 1, Registers: true,
		Host: facts.HostFacts{ID: facts.HostID(name), Boot: "b", StateID: name, Slots: 16, Cluster: "/"}}
	m.Step(now, e)
	m.Take(now)
	e.Sequence, e.Registers = 2, false
	m.Step(now, e)
}

// TestChangesAreSeenWithoutAView: where a view takes long the answers to people do not wait for one each, and yet each
// finds what he changed in what he reads next.
func TestChangesAreSeenWithoutAView(t *testing.T) {
	t.Parallel()
	const changes, takes = 100, 50 * time.Millisecond
	f := &slowFarm{Machine: farm.New(settings.DefaultConfig().Policy()), takes: takes}
	connect(f, "a")
	connect(f, "b")
	l := turn(t, f)
	began := time.Now()
	for range changes / 2 {
		id := l.submit().ID
		if v, ok := l.shown.Load().Job(id); !ok || v.Status != "blocked" || v.Reason != "blocked by u" ||
			v.Items.Blocked != 3 {
			t.Fatalf("job %d was submitted, and is %v %+v", id, ok, v)
		}
		l.order(id, facts.Kill)
		if v, _ := l.shown.Load().Job(id); v.Status != "killed" || v.Items.Killed != 3 || v.Reason != "" {
			t.Fatalf("job %d was killed, and is %+v", id, v)
		}
	}
	took := time.Since(began)
	l.ask(func(t outbox.Ticket) message.Event {
		return message.HostLocked{Ticket: t, Host: "a", Lock: true, By: "op"}
	})
	var states []string
	for h := range l.shown.Load().AllHosts() {
		states = append(states, fmt.Sprint(h.ID, " ", h.LockedBy))
	}
	if !slices.Equal(states, []string{"a op", "b "}) {
		t.Errorf("hosts %v", states)
	}
	l.stop()
	if most := 2 + int(took/((1+viewPace)*takes)); f.views > most+1 {
		t.Errorf("%d views were made for %d changes in %s, at most %d are right", f.views, changes, took, most)
	}
}

// TestPeopleDoNotWaitForAllReports: where each report of a worker takes long a submission is answered among them.
func TestPeopleDoNotWaitForAllReports(t *testing.T) {
	t.Parallel()
	f := &slowFarm{Machine: farm.New(settings.DefaultConfig().Policy()), sync: 10 * time.Millisecond}
	l := turn(t, f)
	for n := range 1000 { // 10 s of work, in one turn if its time had no bound
		name := fmt.Sprint("h", n)
		l.syncs.Put(l.clock.Now(), message.WorkerSynced{Incarnation: "i", Sequence: 1, Registers: true,
			Host: facts.HostFacts{ID: facts.HostID(name), Boot: "b", StateID: name, Slots: 1, Cluster: "/"}})
	}
	l.submit()
	if left := l.syncs.len(); left < 100 {
		t.Errorf("the submission was answered with %d of 1000 reports left", left)
	}
	l.stop()
}

// BenchmarkSubmission makes a submission in turns beside 100 and 10,000 open jobs that wait for 100 hosts. The database
// takes no time; nor do the pauses between two, in which views are made.
func BenchmarkSubmission(b *testing.B) {
	sizes := []int{100, 10_000}
	var loops []*turned
	for _, jobs := range sizes {
		loops = append(loops, busy(b, jobs))
	}
	var took [2][]float64
	for b.Loop() {
		for n, l := range loops {
			began := time.Now()
			l.submit()
			took[n] = append(took[n], time.Since(began).Seconds()*1e6)
		}
		time.Sleep(20 * time.Millisecond)
	}
	for n, jobs := range sizes {
		slices.Sort(took[n])
		b.ReportMetric(middle(took[n]), fmt.Sprintf("beside-%d-p50-µs", jobs))
		b.ReportMetric(mean(took[n]), fmt.Sprintf("beside-%d-mean-µs", jobs))
	}
	b.ReportMetric(middle(took[1])/middle(took[0]), "p50-ratio")
	b.ReportMetric(mean(took[1])/mean(took[0]), "mean-ratio")
	for _, l := range loops {
		l.stop()
	}
}

func middle(sorted []float64) float64 { return sorted[len(sorted)/2] }

func mean(all []float64) float64 {
	sum := 0.0
	for _, v := range all {
		sum += v
	}
	return sum / float64(len(all))
}

// busy is a farm of 100 hosts whose slots are taken, with so many open jobs.
func busy(b *testing.B, jobs int) *turned {
	policy := settings.DefaultConfig().Policy()
	policy.Liveness, policy.ExecutionLease, policy.Limits = time.Hour, time.Hour, quota.Policy{}
	f, now := farm.New(policy), time.Now()
	for n := range 100 {
		connect(f, fmt.Sprint("h", n))
	}
	for n := range jobs {
		f.Step(now, message.JobSubmitted{Facts: facts.JobFacts{Name: fmt.Sprint(n), User: "u", Command: []string{"true"},
			CPUs: 1, Agenda: agenda.Spec{Range: "1-100"}}})
	}
	for range 3 {
		f.Plan(now)
		f.Take(now)
		now = now.Add(time.Second)
	}
	return turn(b, f)
}
