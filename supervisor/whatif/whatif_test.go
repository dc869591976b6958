package whatif

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/message"
	"qb/supervisor/planner"
)

// farm has a pool of slots, and two jobs whose instances fill it: one that all may stop, one that has what it asked for.
func farm(jobs, slots int) planner.Snapshot {
	s := planner.Snapshot{Now: 1000, Cluster: "/", Policy: planner.SharePolicy{Mode: "jobs", Preempt: "aggressive", DefaultMaxCPUs: -1, MaxCPUsLimit: slots,
		ShareUnit: "slots", Promote: true, Order: []string{"priority", "cluster", "fairshare", "vtime", "age", "id"}}}
	for h := range (slots + 15) / 16 {
		s.Hosts = append(s.Hosts, planner.SnapHost{Name: fmt.Sprintf("h%05d", h), Slots: min(16, slots-16*h), Memory: -1, Cluster: "/", Up: true})
	}
	for j := range jobs {
		s.Jobs = append(s.Jobs, planner.SnapJob{ID: fmt.Sprint(j + 1), Num: int64(j + 1), Priority: 100, Submit: int64(j), Cluster: "/", CPUs: 1, Remaining: slots, Agenda: true, Slots: 1, Weight: 1, Fairshare: 1})
	}
	return s
}

// settled lets run what a plan starts.
func settled(s planner.Snapshot) planner.Snapshot {
	for n, start := range planner.Balance(s).Starts {
		s.Running = append(s.Running, planner.SnapInstance{ID: fmt.Sprintf("%d.%d", start.Job+1, n), Job: start.Job, Host: start.Host, Kind: start.Kind, Started: 900, ItemStarted: 900, HasItem: true})
	}
	return s
}

func of(s planner.Snapshot, v *message.View) Farm {
	return Farm{View: v, Look: func(to *planner.Snapshot) error { *to = s; return nil }, Find: func(id facts.JobID) (facts.JobView, error) {
		if int(id) > len(s.Jobs)+1 {
			return facts.JobView{}, api.Errorf(api.KindNotFound, "there is no job %d", id)
		}
		return facts.JobView{JobFacts: facts.JobFacts{ID: id, Version: 7, Priority: 100, CPUs: 1, Cluster: "/"}}, nil
	}}
}

// TestTry: a narrower job frees slots for the other, and its items that stop are named.
func TestTry(t *testing.T) {
	s := settled(farm(2, 16))
	v := &message.View{Hosts: []message.HostView{{HostFacts: facts.HostFacts{}, Instances: []message.InstanceView{}}}}
	for _, r := range s.Running {
		var n int
		_, _ = fmt.Sscanf(r.ID[2:], "%d", &n)
		v.Hosts[0].Instances = append(v.Hosts[0].Instances, message.InstanceView{Job: facts.JobID(r.Job + 1), Number: n, ItemName: "item of " + r.ID})
	}
	reply, err := NewDesk().Try(context.Background(), &api.WhatIfQuery{Job: 1, MaxCPUs: "3"}, of(s, v))
	if err != nil {
		t.Fatal(err)
	}
	want := []api.WhatIfJob{
		{Job: 1, Running: api.WhatIfCounts{Primary: 1, Secondary: 7}, Before: api.WhatIfCounts{Primary: 1, Secondary: 7}, After: api.WhatIfCounts{Primary: 1, Secondary: 2}},
		{Job: 2, Running: api.WhatIfCounts{Primary: 1, Secondary: 7}, Before: api.WhatIfCounts{Primary: 1, Secondary: 7}, After: api.WhatIfCounts{Primary: 1, Secondary: 12}},
	}
	if fmt.Sprint(reply.Jobs) != fmt.Sprint(want) || reply.Stopped != 5 || reply.LostAfter != 500 || reply.Version != 7 || reply.Moved != 2 || reply.At.Unix() != 1000 {
		t.Errorf("%+v", reply)
	}
	for _, stop := range reply.Stops {
		if stop.Job != 1 || stop.Seconds != 100 || stop.Item != "item of "+stop.Instance || stop.Host != "h00000" {
			t.Errorf("%+v", stop)
		}
	}
}

// TestRefusals names what is wrong; the snapshot stays as it is.
func TestRefusals(t *testing.T) {
	s := settled(farm(2, 16))
	points := s
	points.Policy.Order = []string{"multifactor", "id"}
	for _, c := range []struct {
		q    api.WhatIfQuery
		s    planner.Snapshot
		kind api.Kind
		text string
	}{
		{api.WhatIfQuery{}, s, api.KindInvalid, "nothing to try"},
		{api.WhatIfQuery{Job: 1}, s, api.KindInvalid, "nothing to change"},
		{api.WhatIfQuery{Job: 1, MaxCPUs: "many"}, s, api.KindInvalid, `"many" is neither`},
		{api.WhatIfQuery{Job: 1, Cluster: "x"}, s, api.KindInvalid, "slash"},
		{api.WhatIfQuery{Job: 9, CPUs: 2}, s, api.KindNotFound, "no job 9"},
		{api.WhatIfQuery{Job: 3, CPUs: 2}, s, api.KindConflict, "job 3 is blocked"},
		{api.WhatIfQuery{Lock: []string{"x"}}, s, api.KindNotFound, `no host "x"`},
		{api.WhatIfQuery{Job: 1, Priority: 1}, points, api.KindConflict, "ordered by points"},
	} {
		_, err := NewDesk().Try(context.Background(), &c.q, of(c.s, nil))
		if err == nil || api.Refusal(err).Kind != c.kind || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v, want %s %s", c.q, err, c.kind, c.text)
		}
	}
	if s.Jobs[0].CPUs != 1 || !s.Hosts[0].Up {
		t.Error("the snapshot was changed")
	}
}

// TestOverBudget: what others leave stays all that the job has, however many instances it would ask for.
func TestOverBudget(t *testing.T) {
	s := farm(2, 4)
	s.Jobs[0].CPUs, s.Jobs[0].MaxCPUs, s.Jobs[0].Weight = 0, new(4), 1e-9
	reply, err := NewDesk().Try(context.Background(), &api.WhatIfQuery{Job: 1, CPUs: 3}, of(settled(s), nil))
	if err != nil || reply.Moved != 0 {
		t.Errorf("%+v, %v", reply, err)
	}
}

// TestOneAtATime: a trial waits for the one before it, and not for ever.
func TestOneAtATime(t *testing.T) {
	d, s := NewDesk(), settled(farm(2, 16))
	began, end := make(chan struct{}), make(chan struct{})
	slow := of(s, nil)
	slow.Look = func(to *planner.Snapshot) error { close(began); <-end; *to = s; return nil }
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := d.Try(context.Background(), &api.WhatIfQuery{Job: 1, CPUs: 2}, slow); err != nil {
			t.Error(err)
		}
	})
	<-began
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := d.Try(ctx, &api.WhatIfQuery{Job: 1, CPUs: 2}, of(s, nil)); api.Refusal(err).Kind != api.KindLimit {
		t.Errorf("a second one: %v", err)
	}
	close(end)
	wg.Wait()
}

// BenchmarkTry tries a narrower job on a full farm.
func BenchmarkTry(b *testing.B) {
	s := settled(farm(10_000, 100_000))
	d, f := NewDesk(), of(s, nil)
	for b.Loop() {
		if _, err := d.Try(context.Background(), &api.WhatIfQuery{Job: 1, MaxCPUs: "1"}, f); err != nil {
			b.Fatal(err)
		}
	}
}
