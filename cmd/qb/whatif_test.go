package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"qb/api"
	"qb/smartshare"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/page/whatif"
	"qb/supervisor/share/planner"
	"qb/supervisor/wire/translate"
)

// TestWhatIfIsPlanByHand: on random farms the answer of what-if is that of qb plan on what qb snapshot prints, changed
// by hand.
func TestWhatIfIsPlanByHand(t *testing.T) {
	moved, stopped := 0, 0
	desk := whatif.NewTrials(func(context.Context) (func(), error) { return func() {}, nil })
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			m, n := compareWithPlans(t, desk)
			moved += m
			stopped += n
		}
	})
	if moved < 20 || stopped < 5 {
		t.Errorf("the changes moved %d jobs and stopped %d instances: too few to compare", moved, stopped)
	}
}

// compareWithPlans draws a farm and a change, and says how many jobs that moves and how many instances it stops.
func compareWithPlans(t *rapid.T, desk *whatif.Trials) (moved, stopped int) {
	s := drawnFarm(t)
	doc := translate.Snapshot(s)
	q, hand := drawnChange(t, s, doc)
	reply, err := desk.Try(context.Background(), &q, whatif.Farm{
		Find: func(id facts.JobID) (facts.JobView, error) { return rowOf(s, id), nil },
		Look: func(to *planner.Snapshot) error { *to = s; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, reply, planned(t, doc), planned(t, hand), nil)
	return reply.Moved, reply.Stopped
}

// compare says what an answer has otherwise than the two plans, whose jobs are numbered except for the new one.
func compare(t *rapid.T, reply api.WhatIfReply, before, after api.BalanceDoc, name func(id string) string) {
	rows := map[string]api.WhatIfJob{}
	for _, j := range reply.Jobs {
		rows[strconv.FormatInt(j.Job, 10)] = j
	}
	for id, a := range after.Jobs {
		b, shown := before.Jobs[id], id
		if name != nil {
			shown = name(id)
		}
		row := rows[shown]
		if got := (api.WhatIfJob{Job: row.Job, Running: row.Running, Before: counts(b), After: counts(a)}); counts(a) != counts(b) && (got != row || strconv.FormatInt(row.Job, 10) != shown) || counts(a) == counts(b) && row != (api.WhatIfJob{}) {
			t.Fatalf("job %s: what-if says %+v, the plans %+v and %+v", id, row, b, a)
		}
	}
	want := slices.DeleteFunc(slices.Clone(after.Stop), func(id string) bool { return slices.Contains(before.Stop, id) })
	var got []string
	for _, stop := range reply.Stops {
		got = append(got, stop.Instance)
	}
	if !slices.Equal(got, want) || reply.Stopped != len(want) || reply.Spared != len(before.Stop)-(len(after.Stop)-len(want)) {
		t.Fatalf("what-if stops %v and spares %d, the plans stop %v and %v", got, reply.Spared, before.Stop, after.Stop)
	}
	if reply.FreeBefore != before.FreeSlots || reply.FreeAfter != after.FreeSlots || reply.LostBefore != before.LostWork || reply.LostAfter != after.LostWork {
		t.Fatalf("what-if says %+v, the plans %+v and %+v", reply, before, after)
	}
}

// TestTrialIsPlanByHand: the same holds of a submission, whose job is added to the snapshot by hand.
func TestTrialIsPlanByHand(t *testing.T) {
	moved, stopped, desk := 0, 0, whatif.NewTrials(func(context.Context) (func(), error) { return func() {}, nil })
	starts := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			s := drawnFarm(t)
			last := len(s.Jobs) - 1
			s.Running = slices.DeleteFunc(s.Running, func(r planner.SnapInstance) bool { return r.Job == last })
			reply, err := desk.TrySubmission(context.Background(), whatif.Submission{
				Look: func(to *planner.Snapshot) (message.TrialReply, error) {
					*to = s
					return message.TrialReply{Planned: 1}, nil
				},
				Explain: func() (facts.Why, error) { return facts.Why{}, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			hand := translate.Snapshot(s)
			now := hand
			now.Jobs = hand.Jobs[:last]
			before, after := planned(t, now), planned(t, hand)
			compare(t, reply.WhatIfReply, before, after, func(id string) string {
				if id == s.Jobs[last].ID {
					return "0"
				}
				return id
			})
			job, sub := after.Jobs[s.Jobs[last].ID], reply.Submission
			if sub.Now+sub.Stopped != job.StartPrimary+job.StartSecondary || (sub.Start == "later") != (sub.Now+sub.Stopped == 0) || (sub.Start == "now") != (sub.Now > 0) {
				t.Fatalf("%+v, the plan starts %+v", sub, job)
			}
			moved, stopped = moved+reply.Moved, stopped+reply.Stopped
			starts[sub.Start]++
		}
	})
	if moved < 20 || stopped < 5 || len(starts) != 3 {
		t.Errorf("submissions moved %d jobs and stopped %d instances; they start %v: too few to compare", moved, stopped, starts)
	}
}

func counts(j api.BalanceJob) api.WhatIfCounts {
	return api.WhatIfCounts{Primary: j.Primary, Secondary: j.Secondary}
}

// planned is what qb plan prints of a document.
func planned(t *rapid.T, doc api.SnapshotDoc) api.BalanceDoc {
	text, err := json.Marshal(doc)
	if err == nil {
		doc, err = api.ReadSnapshot(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := translate.SnapshotOf(&doc)
	return translate.PlanDoc(&s, planner.Decide(&smartshare.Scratch{}, s))
}

func rowOf(s planner.Snapshot, id facts.JobID) facts.JobView {
	j := s.Jobs[id-1]
	return facts.JobView{JobFacts: facts.JobFacts{ID: id, Version: 1, Priority: j.Priority, CPUs: j.CPUs, MaxCPUs: j.MaxCPUs, Cluster: j.Cluster}}
}

// drawnFarm has hosts and jobs of several shapes and clusters, and instances wherever they fit.
func drawnFarm(t *rapid.T) planner.Snapshot {
	roll := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(t, name) }
	clusters := []string{"/", "/a", "/a/b"}
	s := planner.Snapshot{Now: 10_000, Cluster: "/", Policy: planner.SharePolicy{
		Mode: []string{"jobs", "users", "none"}[roll("mode", 0, 2)], Preempt: []string{"aggressive", "passive", "disabled"}[roll("preempt", 0, 2)],
		DefaultMaxCPUs: roll("default", -1, 6), MaxCPUsLimit: roll("limit", 2, 12), ShareUnit: "slots", Promote: roll("promote", 0, 3) > 0,
		Order: []string{"priority", "cluster", "fairshare", "vtime", "age", "id"},
	}}
	room := []int{}
	for h := range roll("hosts", 1, 6) {
		s.Hosts = append(s.Hosts, planner.SnapHost{Name: fmt.Sprintf("h%d", h), Slots: roll("slots", 1, 8), Memory: -1, Cluster: clusters[roll("cluster", 0, 2)], Up: roll("up", 0, 9) > 0})
		room = append(room, s.Hosts[h].Slots)
	}
	for n := range roll("jobs", 2, 6) {
		j := planner.SnapJob{ID: strconv.Itoa(n + 1), Num: int64(n + 1), User: []string{"ana", "ben", "cy"}[roll("user", 0, 2)], Priority: roll("priority", 1, 3) * 100, Submit: int64(n + 1),
			Cluster: clusters[roll("cluster", 0, 2)], CPUs: roll("cpus", 1, 4), Remaining: roll("remaining", 6, 20), Agenda: true, Slots: roll("wide", 0, 5)/5 + 1, Weight: 1, Fairshare: 1}
		if roll("width", 0, 1) == 1 {
			j.MaxCPUs = new(roll("max_cpus", -1, 9))
		}
		if roll("choosy", 0, 2) == 0 {
			j.Eligible = []int{}
			for h := range s.Hosts {
				if roll("serves", 0, 1) == 1 {
					j.Eligible = append(j.Eligible, h)
				}
			}
		}
		s.Jobs = append(s.Jobs, j)
	}
	held := map[int]int{}
	for n := range roll("running", 0, 30) {
		j, h := roll("job", 0, len(s.Jobs)-1), roll("host", 0, len(s.Hosts)-1)
		job := &s.Jobs[j]
		if job.Slots > room[h] || held[j] == 6 || job.Eligible != nil && !slices.Contains(job.Eligible, h) {
			continue
		}
		room[h] -= job.Slots
		kind := facts.Primary
		if held[j]++; held[j] > job.CPUs {
			kind = facts.Secondary
		}
		began := s.Now - float64(roll("ran", 1, 500))
		s.Running = append(s.Running, planner.SnapInstance{ID: fmt.Sprintf("%s.%d", job.ID, n), Job: j, Host: h, Kind: kind, Started: began, ItemStarted: began, HasItem: true, Draining: roll("draining", 0, 4) == 0})
	}
	return s
}

// drawnChange is a query, and the document with the same change made by hand.
func drawnChange(t *rapid.T, s planner.Snapshot, doc api.SnapshotDoc) (q api.WhatIfQuery, hand api.SnapshotDoc) {
	hand = doc
	hand.Jobs, hand.Hosts = slices.Clone(doc.Jobs), slices.Clone(doc.Hosts)
	at := rapid.IntRange(0, len(s.Jobs)-1).Draw(t, "changed")
	j := &hand.Jobs[at]
	ways := map[string]func(){
		"priority": func() { q.Priority = rapid.IntRange(1, 400).Draw(t, "new priority"); j.Priority = q.Priority },
		"cpus":     func() { q.CPUs = rapid.IntRange(1, 9).Draw(t, "new cpus"); j.CPUs = q.CPUs },
		"width": func() {
			width := rapid.IntRange(0, 12).Draw(t, "new max_cpus")
			q.MaxCPUs, j.MaxCPUs = strconv.Itoa(width), &width
		},
		"unlimited": func() { q.MaxCPUs, j.MaxCPUs = "*", new(-1) },
		"cluster": func() {
			q.Cluster = rapid.SampledFrom([]string{"/", "/a", "/a/b"}).Draw(t, "new cluster")
			j.Cluster = q.Cluster
		},
		"lock": func() {
			h := rapid.IntRange(0, len(s.Hosts)-1).Draw(t, "locked")
			q.Lock, hand.Hosts[h].Up = []string{s.Hosts[h].Name}, false
		},
	}
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(ways))), 1, 3, rapid.ID[string]).Draw(t, "ways")
	for _, name := range names {
		ways[name]()
	}
	if q.Priority != 0 || q.CPUs != 0 || q.MaxCPUs != "" || q.Cluster != "" {
		q.Job = int64(at + 1)
	}
	return q, hand
}
