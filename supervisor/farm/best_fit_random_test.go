package farm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// fitJob is a job of which every host's fitness can be computed without the farm's own code.
type fitJob struct {
	text   string
	slots  int
	memory int64
	may    func(*message.HostView) bool
}

func drawFitJob(rt *rapid.T, hosts int) fitJob {
	need := int64(rapid.IntRange(1, 7).Draw(rt, "need")) << 30
	j := fitJob{slots: rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(rt, "width"), memory: need, may: func(*message.HostView) bool { return true }}
	j.text = fmt.Sprintf("cpus=%d max=0 items=1-9 reservations=host.memory=%dMB,host.processors=%d", rapid.IntRange(1, 3).Draw(rt, "cpus"), need>>20, j.slots)
	named := func() []string {
		return rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(0, hosts-1), func(n int) string { return fmt.Sprintf("h%d", n) }), 1, hosts, rapid.ID[string]).Draw(rt, "named")
	}
	switch rapid.IntRange(0, 5).Draw(rt, "kind") {
	case 0:
		list := named()
		j.text += " hosts=" + strings.Join(list, ",")
		j.may = func(h *message.HostView) bool { return slices.Contains(list, string(h.ID)) }
	case 1:
		list := named()
		j.text += " omithosts=" + strings.Join(list, ",")
		j.may = func(h *message.HostView) bool { return !slices.Contains(list, string(h.ID)) }
	case 2:
		j.text += " groups=big"
		j.may = func(h *message.HostView) bool { return slices.Contains(h.Groups, "big") }
	case 3:
		j.text += " omitgroups=big"
		j.may = func(h *message.HostView) bool { return !slices.Contains(h.Groups, "big") }
	case 4:
		least := rapid.IntRange(7, 12).Draw(rt, "least")
		j.text += fmt.Sprintf(" requirements=host.memory_>_%dGiB", least)
		j.may = func(h *message.HostView) bool { return h.Memory > int64(least)<<30 }
	}
	return j
}

// takes says whether the host has room for one more instance of the job.
func (j fitJob) takes(h *message.HostView) bool {
	return j.may(h) && h.Slots-h.Used >= j.slots && left(h) >= j.memory
}

// TestBestFit is invariant 33: of all hosts that may run it an instance goes to the one with the least memory left that
// suffices, and of such hosts to one with the fewest free slots; it waits only if no host suffices. Host lists, groups,
// requirements and widths divide the hosts into classes; the brute-force search here knows none of them.
func TestBestFit(t *testing.T) {
	waited, several := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.say("policy placement=best_fit")
		hosts := rapid.IntRange(2, 7).Draw(rt, "hosts")
		for n := range hosts {
			group := rapid.SampledFrom([]string{"", " groups=big", " groups=big,old"}).Draw(rt, "group")
			r.say(fmt.Sprintf("host h%d slots=%d mem=%d%s", n, rapid.IntRange(1, 4).Draw(rt, "slots"), rapid.IntRange(5, 12).Draw(rt, "memory"), group))
		}
		for range rapid.IntRange(1, 12).Draw(rt, "jobs") {
			j, now := drawFitJob(rt, hosts), map[facts.HostID]*message.HostView{}
			for _, h := range r.farm.View(r.now).Hosts {
				now[h.ID] = h
			}
			var went []facts.HostID
			r.taken = func(b outbox.Batch) {
				for _, w := range b.Writes {
					if s, ok := w.(facts.StartAttempt); ok {
						went = append(went, s.Attempt.Host)
					}
				}
			}
			r.say("submit j " + j.text)
			if several += len(went) / 2; len(went) == 0 {
				waited++
			}
			for _, id := range went {
				chosen := now[id]
				if !j.takes(chosen) {
					rt.Fatalf("%s went to %s with %s", j.text, id, rounded(left(chosen)))
				}
				for _, h := range now {
					if j.takes(h) && (left(h) < left(chosen) || (left(h) == left(chosen) && h.Slots-h.Used < chosen.Slots-chosen.Used)) {
						rt.Fatalf("%s went to %s with %s and %d free slots, %s had %s and %d", j.text, id, rounded(left(chosen)),
							chosen.Slots-chosen.Used, h.ID, rounded(left(h)), h.Slots-h.Used)
					}
				}
				chosen.Used, chosen.Promised = chosen.Used+j.slots, chosen.Promised+j.memory
				now[id] = chosen
			}
			cpus := number(option(strings.Fields(j.text), "cpus", ""))
			for _, h := range now {
				if len(went) < cpus && j.takes(h) {
					rt.Fatalf("%s waits, though %s has %s and %d free slots", j.text, h.ID, rounded(left(h)), h.Slots-h.Used)
				}
			}
			if len(went) < cpus && j.slots > 1 {
				return // a host is kept for it from now on
			}
		}
	})
	if waited == 0 || several == 0 {
		t.Errorf("%d jobs waited for memory, %d started several instances at once", waited, several)
	}
}

// left is what a host can still promise; nothing runs for long enough here to have memory of its own.
func left(h *message.HostView) int64 { return h.Memory - h.Promised }
