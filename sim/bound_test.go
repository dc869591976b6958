package sim

import (
	"fmt"
	"testing"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// TestBarBigFarm: a job that fills all slots of a large farm at once, on a database that takes long for each row, ends
// no term, nor does the kill of what runs of it: no commit may grow with the farm. (With all starts of a plan in one
// commit each term ends in its first.)
func TestBarBigFarm(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as all other tests here")
	}
	const slots, items, rows, fills, kills = 50, 900, 40, 25 * time.Second, 15 * time.Second
	filled := 0
	for seed := uint64(1); seed <= 2*simScripts; seed++ {
		w := newWorldOf(seed)
		w.faults = simFaults{lasts: simScriptEnds}
		w.policy.CommitRows, w.policy.OrderRows, w.policy.Memory.Default, w.policy.Share.MaxCPUsLimit = rows, rows, 0, 1000
		if len(w.hosts) < 4 {
			continue
		}
		for _, h := range w.hosts {
			h.slots, h.offers, h.machine.total = slots, 0, 1000*simGB
		}
		var epoch int64
		var big facts.JobID
		w.at(simScriptAt, func() {
			epoch, w.database.perRow = w.database.epoch, 30*time.Millisecond
			width := -1
			w.clients.items += items
			w.clients.asked["big"] = 0
			given := facts.JobFacts{Name: "big", User: "u0", Submission: "big", Command: []string{"true"}, CPUs: 1, MaxCPUs: &width, RetryWork: 1,
				Priority: 1, Agenda: agenda.Spec{Range: fmt.Sprintf("1-%d", items)}}
			w.clients.call(&simCall{name: "submit big", run: func(s *simSupervisor, answer func(outbox.Reply, error)) {
				s.submit(given, false, func(r outbox.Reply, err error) {
					w.clients.checkSubmitted("big", r, err)
					answer(r, err)
				})
			},
				done: func(r outbox.Reply) { big = r.Body.(message.JobReply).Job.ID }})
		})
		started := 0
		w.at(simScriptAt+fills, func() {
			for a := range w.rows.everyLive() {
				if a.Job == big {
					started++
				}
			}
			w.clients.order(message.JobAction{Job: big, Action: facts.Kill, By: "op"}, items)
		})
		for _, at := range []time.Duration{fills, fills + kills} {
			w.by(simScriptAt+at, "L5", "its term goes on", func() bool { return w.database.epoch == epoch })
		}
		w.at(simScriptAt+fills+kills, func() { w.database.perRow = 0 })
		if w.live(); w.failure != "" {
			t.Fatalf("%s\nseed %d: %s", w.story(), seed, w.failure)
		}
		t.Logf("seed %d: %d attempts of %d hosts", seed, started, len(w.hosts))
		if started > 150 {
			filled++
		}
		if n := w.database.cancelled; n > 0 {
			t.Errorf("seed %d: %d commits were cancelled for their length", seed, n)
		}
	}
	if filled < simScripts/3 {
		t.Errorf("only %d worlds were filled", filled)
	}
}
