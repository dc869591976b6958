package whatif

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"qb/api"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// farm has a pool of slots, and two jobs whose instances fill it: all instances of the first may be stopped, the second
// has what it asked for.
func farm(jobs, slots int) planner.Snapshot {
	s := planner.Snapshot{Now: 1000, Cluster: "/",
		Policy: planner.SharePolicy{Mode: "jobs", Preempt: "aggressive", DefaultMaxCPUs: -1, MaxCPUsLimit: slots,
			ShareUnit: "slots", Promote: true, Order: []string{"priority", "cluster", "fairshare", "vtime", "age", "id"}}}
	for h := range (slots + 15) / 16 {
		s.Hosts = append(s.Hosts, planner.SnapHost{Name: fmt.Sprintf("h%05d", h), Slots: min(16, slots-16*h), Memory: -1,
			Cluster: "/", Up: true})
	}
	for j := range jobs {
		s.Jobs = append(s.Jobs, planner.SnapJob{ID: fmt.Sprint(j + 1), Num: int64(j + 1), Priority: 100, Submit: int64(j),
			Cluster: "/", CPUs: 1, Remaining: slots, Agenda: true, Slots: 1, Weight: 1, Fairshare: 1})
	}
	return s
}

// settled lets run what a plan starts.
func settled(s planner.Snapshot) planner.Snapshot {
	for n, start := range planner.Balance(s).Starts {
		s.Running = append(s.Running, planner.SnapInstance{ID: fmt.Sprintf("%d.%d", start.Job+1, n), Job: start.Job,
			Host: start.Host, Kind: start.Kind, Started: 900, ItemStarted: 900, HasItem: true})
	}
	return s
}

func of(s planner.Snapshot, v *message.View) Farm {
	return Farm{View: v, Look: func(to *planner.Snapshot) error {
		*to = s
		return nil
	}, Find: func(id facts.JobID) (facts.JobView, error) {
		if int(id) > len(s.Jobs)+1 {
			return facts.JobView{}, api.Errorf(api.KindNotFound, "there is no job %d", id)
		}
		return facts.JobView{JobFacts: facts.JobFacts{ID: id, Version: 7, Priority: 100, CPUs: 1, Cluster: "/"}}, nil
	}}
}

// TestTry: a narrower job frees slots for the other, and its items that stop are named.
func TestTry(t *testing.T) {
	s := settled(farm(2, 16))
	v := &message.View{Hosts: []*message.HostView{{HostFacts: facts.HostFacts{}, Instances: []message.InstanceView{}}}}
	for _, r := range s.Running {
		var n int
		_, _ = fmt.Sscanf(r.ID[2:], "%d", &n)
		v.Hosts[0].Instances = append(v.Hosts[0].Instances,
			message.InstanceView{Job: facts.JobID(r.Job + 1), Number: n, ItemName: "item of " + r.ID})
	}
	reply, err := NewTrials(func(context.Context) (func(), error) {
		return func() {}, nil
	}).Try(context.Background(), &api.WhatIfQuery{Job: 1, MaxCPUs: "3"}, of(s, v))
	if err != nil {
		t.Fatal(err)
	}
	want := []api.WhatIfJob{
		{Job: 1, Running: api.WhatIfCounts{Primary: 1, Secondary: 7}, Before: api.WhatIfCounts{Primary: 1, Secondary: 7},
			After: api.WhatIfCounts{Primary: 1, Secondary: 2}},
		{Job: 2, Running: api.WhatIfCounts{Primary: 1, Secondary: 7}, Before: api.WhatIfCounts{Primary: 1, Secondary: 7},
			After: api.WhatIfCounts{Primary: 1, Secondary: 12}},
	}
	if fmt.Sprint(reply.Jobs) != fmt.Sprint(want) || reply.Stopped != 5 || reply.LostAfter != 500 || reply.Version != 7 ||
		reply.Moved != 2 || reply.At.Unix() != 1000 {
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
		_, err := NewTrials(func(context.Context) (func(), error) {
			return func() {}, nil
		}).Try(context.Background(), &c.q, of(c.s, nil))
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
	reply, err := NewTrials(func(context.Context) (func(), error) {
		return func() {}, nil
	}).Try(context.Background(), &api.WhatIfQuery{Job: 1, CPUs: 3}, of(settled(s), nil))
	if err != nil || reply.Moved != 0 {
		t.Errorf("%+v, %v", reply, err)
	}
}

// TestTrySubmission: the job takes from the others what they have beyond their due, and it is said when, or why not.
func TestTrySubmission(t *testing.T) {
	try := func(preempt string, free int, planned bool, change func(*planner.SnapJob)) api.TrialReply {
		t.Helper()
		s := farm(2, 16)
		s.Policy.Preempt = preempt
		s = settled(s)
		s.Hosts[0].Slots += free
		v := &message.View{Jobs: []*facts.JobView{{JobFacts: facts.JobFacts{ID: 1}, MeanItemSeconds: 130},
			{JobFacts: facts.JobFacts{ID: 2}, EstimatedItemSeconds: 400}}}
		jobs := len(s.Jobs)
		if planned {
			s.Jobs = append(s.Jobs, planner.SnapJob{ID: "3", Num: 3, Priority: 100, Submit: 9, Cluster: "/", CPUs: 2,
				Remaining: 9, Agenda: true, Slots: 1, Weight: 1, Fairshare: 1})
			change(&s.Jobs[2])
		}
		reply, err := NewTrials(func(context.Context) (func(), error) {
			return func() {}, nil
		}).TrySubmission(context.Background(), Submission{View: v,
			Look: func(to *planner.Snapshot) (message.TrialReply, error) {
				*to = s
				return message.TrialReply{Items: 9, Planned: len(s.Jobs) - jobs, Remarks: []string{"r"}}, nil
			},
			Explain: func() (facts.Why, error) { return facts.Because(facts.ReasonSlotsTaken, facts.Params{}, "why"), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	as := func(*planner.SnapJob) {}
	got := func(r api.TrialReply) string {
		earliest := "unknown"
		if r.Submission.Earliest != nil {
			earliest = fmt.Sprint(*r.Submission.Earliest)
		}
		return fmt.Sprint(r.Submission.Start, " ", r.Submission.Now, "+", r.Submission.Stopped, " ", earliest, " ",
			r.Submission.Reason, " stops ", r.Stopped, " of ", r.Moved, ", lost ", r.LostAfter)
	}
	for _, c := range []struct {
		reply api.TrialReply
		want  string
	}{
		{try("aggressive", 0, true, as), "after-stops 0+6 0  stops 6 of 3, lost 600"},
		{try("aggressive", 1, true, as), "now 1+5 0  stops 5 of 3, lost 500"},
		{try("passive", 0, true, as), "after-stops 0+6 30  stops 6 of 3, lost 0"},
		{try("aggressive", 0, true, func(j *planner.SnapJob) { j.Slots = 17 }), "later 0+0 30 why stops 0 of 0, lost 0"},
		{try("aggressive", 0, true, func(j *planner.SnapJob) {
			j.Eligible = []int{}
		}), "later 0+0 unknown why stops 0 of 0, lost 0"},
		{try("aggressive", 4, false, as), "later 0+0 unknown why stops 0 of 0, lost 0"},
	} {
		if text := got(c.reply); text != c.want || c.reply.Submission.Items != 9 || c.reply.Submission.Remarks[0] != "r" {
			t.Errorf("%s, want %s", text, c.want)
		}
	}
	if first := try("aggressive", 0, true, as).Jobs; len(first) != 3 || first[2].Job != 0 ||
		first[2].After != (api.WhatIfCounts{Primary: 2, Secondary: 4}) {
		t.Errorf("%+v", first)
	}
}

// TestOneAtATime: a trial waits for the one before it, and not for ever.
func TestOneAtATime(t *testing.T) {
	d, s := NewTrials(func(context.Context) (func(), error) { return func() {}, nil }), settled(farm(2, 16))
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
	d, f := NewTrials(func(context.Context) (func(), error) { return func() {}, nil }), of(s, nil)
	for b.Loop() {
		if _, err := d.Try(context.Background(), &api.WhatIfQuery{Job: 1, MaxCPUs: "1"}, f); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTrySubmission tries a new job on the same farm.
func BenchmarkTrySubmission(b *testing.B) {
	s := settled(farm(10_000, 100_000))
	s.Jobs = append(s.Jobs, planner.SnapJob{ID: "10001", Num: 10_001, Priority: 1, Submit: 10_001, Cluster: "/", CPUs: 100,
		Remaining: 1000, Agenda: true, Slots: 1, Weight: 1, Fairshare: 1})
	d := NewTrials(func(context.Context) (func(), error) { return func() {}, nil })
	f := Submission{Look: func(to *planner.Snapshot) (message.TrialReply, error) {
		*to = s
		return message.TrialReply{Items: 1000, Planned: 1}, nil
	}}
	for b.Loop() {
		if reply, err := d.TrySubmission(context.Background(), f); err != nil ||
			reply.Submission.Stopped+reply.Submission.Now == 0 {
			b.Fatal(reply.Submission, err)
		}
	}
}

// TestTryPreemption: under the policy for primaries a better priority moves primaries, and the counts say so as the
// stops do.
func TestTryPreemption(t *testing.T) {
	s := farm(2, 16)
	s.Policy.PrimaryPreempt = "passive"
	s.Jobs[0].CPUs, s.Jobs[1].CPUs = 16, 4
	s = settled(s)
	reply, err := NewTrials(func(context.Context) (func(), error) { return func() {}, nil }).Try(context.Background(),
		&api.WhatIfQuery{Job: 2, Priority: 10, CPUs: 4}, of(s, nil))
	if err != nil {
		t.Fatal(err)
	}
	want := []api.WhatIfJob{
		{Job: 2, After: api.WhatIfCounts{Primary: 4}},
		{Job: 1, Running: api.WhatIfCounts{Primary: 16}, Before: api.WhatIfCounts{Primary: 16},
			After: api.WhatIfCounts{Primary: 12}},
	}
	if fmt.Sprint(reply.Jobs) != fmt.Sprint(want) || reply.Stopped != 4 {
		t.Errorf("%+v", reply)
	}
}
