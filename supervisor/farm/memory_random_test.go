package farm_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"qb/supervisor/job/facts"
)

// TestMemoryIsNeverOverbooked drives farms of machines with several agents, caps, reserves and foreign
// use through random lives, takeovers included: what live attempts were promised never exceeds what a
// machine, or one agent's part of it, has for the farm. At the end everything has run.
func TestMemoryIsNeverOverbooked(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.say("policy lease=60s placement=" + rapid.SampledFrom([]string{"best_fit", "spread", "pack"}).Draw(rt, "placement"))
		hosts := rapid.IntRange(1, 5).Draw(rt, "hosts")
		for n := range hosts {
			r.say(fmt.Sprintf("host h%d slots=%d mem=%d machine=m%d cap=%d reserve=%d", n, rapid.IntRange(1, 6).Draw(rt, "slots"),
				rapid.IntRange(4, 16).Draw(rt, "memory"), rapid.IntRange(0, 2).Draw(rt, "machine"),
				rapid.SampledFrom([]int{0, 0, 0, 3}).Draw(rt, "cap"), rapid.IntRange(0, 1).Draw(rt, "reserve")))
			if rapid.Bool().Draw(rt, "shared with people") {
				r.say(fmt.Sprintf("foreign h%d 1", n))
			}
		}
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			memoryStep(rt, r, hosts)
			memoryIsCovered(rt, r)
		}
		calmMemory(rt, r, hosts, func(j *facts.JobView) bool {
			need := max(j.Memory.Requested, j.Memory.LargestPeak)
			if j.Memory.RanOut > 0 { // then the peak was not enough
				need = max(need, j.Memory.Need)
			}
			return servable(r, need)
		})
	})
}

func memoryStep(rt *rapid.T, r *rig, hosts int) {
	quarter := func(name string, most int) string {
		return fmt.Sprintf("%dM", 256*rapid.IntRange(0, 4*most).Draw(rt, name))
	}
	switch verb := rapid.SampledFrom([]string{"submit", "submit", "submit", "finish", "finish", "finish", "uses", "uses", "out", "crash", "advance", "reboot", "modify"}).Draw(rt, "verb"); verb {
	case "submit":
		reservation := ""
		if asked := rapid.IntRange(0, 12).Draw(rt, "asked"); asked > 0 {
			reservation = fmt.Sprintf("reservations=host.memory=%dMB", 256*asked)
		}
		r.say(fmt.Sprintf("submit j cpus=%d max=%d items=1-%d priority=%d retrywork=9 %s", rapid.IntRange(1, 3).Draw(rt, "cpus"), rapid.IntRange(-1, 6).Draw(rt, "max"),
			rapid.IntRange(1, 8).Draw(rt, "items"), rapid.IntRange(1, 2).Draw(rt, "priority"), reservation))
	case "finish", "uses", "out":
		w, id, ok := anyRunning(rt, r)
		if !ok {
			return
		}
		switch verb {
		case "uses":
			w.mem.resident[id] = gigabytes(quarter("resident", 2))
			w.owes = true
		case "finish":
			w.end(id, "exit", 0, "", 5)
			w.ends(id, []string{"peak=" + quarter("peak", 3)})
		case "out":
			w.end(id, "memory", 0, "too large", 5)
			w.ends(id, []string{"peak=" + quarter("peak", 3)})
		}
		r.settle()
	case "advance":
		r.say("advance 3s")
	case "crash":
		r.say("crash")
	case "reboot":
		w := r.workers[facts.HostID(fmt.Sprintf("h%d", rapid.IntRange(0, hosts-1).Draw(rt, "host")))]
		for _, o := range r.workers { // a machine reboots as a whole
			if o.mem.shared == w.mem.shared {
				clear(o.mem.resident)
				o.boots++
				o.restart()
				o.running, o.finished = nil, nil
			}
		}
		r.settle()
	case "modify":
		r.say(fmt.Sprintf("modify %d max=%d", rapid.IntRange(1, max(1, len(r.rows.jobs))).Draw(rt, "job"), rapid.IntRange(-1, 4).Draw(rt, "max")))
	}
}

func anyRunning(rt *rapid.T, r *rig) (*workerDouble, facts.AttemptID, bool) {
	var found []*workerDouble
	for _, w := range r.sortedWorkers() {
		if len(w.running) > 0 {
			found = append(found, w)
		}
	}
	if len(found) == 0 {
		return nil, facts.AttemptID{}, false
	}
	w := rapid.SampledFrom(found).Draw(rt, "worker")
	return w, rapid.SampledFrom(w.running).Draw(rt, "attempt"), true
}

// memoryIsCovered holds the promises in the rows against what there is.
func memoryIsCovered(rt *rapid.T, r *rig) {
	promised, own := map[*machineDouble]int64{}, map[facts.HostID]int64{}
	for _, a := range r.rows.attempts {
		if a.State.Live() {
			promised[r.workers[a.Host].mem.shared] += a.Memory
			own[a.Host] += a.Memory
		}
	}
	for _, h := range r.farm.View(r.now).Hosts {
		if idle := int64(h.Slots - h.Used); h.PerIdle*idle > h.Available || h.Available < 0 || h.Available > h.Memory {
			rt.Fatalf("%s shows %s available of %s, and %s for each of %d idle slots", h.ID, rounded(h.Available), rounded(h.Memory), rounded(h.PerIdle), idle)
		}
	}
	for id, w := range r.workers {
		m := w.mem
		if promised[m.shared] > m.shared.total-m.shared.foreign {
			rt.Fatalf("%s of %s are promised on the machine of %s, %s of it are foreign", rounded(promised[m.shared]), rounded(m.shared.total), id, rounded(m.shared.foreign))
		}
		if most := m.shared.total - m.reserve; own[id] > most || (m.cap > 0 && own[id] > m.cap) {
			rt.Fatalf("%s are promised on %s, which offers %s, capped at %s", rounded(own[id]), id, rounded(most), rounded(m.cap))
		}
	}
}

// calmMemory lets everything finish with the memory it was promised. What does not finish must not be servable.
func calmMemory(rt *rapid.T, r *rig, hosts int, servable func(*facts.JobView) bool) {
	r.say("advance 70s")
	for id := range len(r.rows.jobs) {
		r.say(fmt.Sprintf("unblock %d", id+1)) // items that lost three hosts are held
	}
	for n := range hosts {
		r.say(fmt.Sprintf("unlock h%d", n))
	}
	for round := 0; ; round++ {
		if round > 400 {
			rt.Fatalf("the farm does not finish:\n%s", r.say("jobs")+r.say("hosts"))
		}
		moved := false
		for _, w := range r.sortedWorkers() {
			for _, id := range slices.Clone(w.running) {
				w.end(id, "exit", 0, "", 5)
				w.ends(id, []string{"peak=100M"})
				moved = true
			}
		}
		r.settle()
		memoryIsCovered(rt, r)
		if !moved {
			if r.say("advance 15s"); idle(r) {
				break
			}
		}
	}
	for _, j := range r.farm.View(r.now).Jobs {
		if !r.rows.jobs[j.ID].State.Final() && servable(j) {
			rt.Fatalf("job %d is %s: %+v %s\n%s", j.ID, j.Status, j.Items, j.Reason, r.say("hosts"))
		}
	}
}

// servable says that some host can offer so much now.
func servable(r *rig, need int64) bool {
	for _, w := range r.workers {
		free := w.mem.shared.total - w.mem.shared.foreign - w.mem.reserve
		if w.mem.cap > 0 {
			free = min(free, w.mem.cap)
		}
		if need <= free {
			return true
		}
	}
	return false
}
