package farm_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"qb/supervisor/farm"
)

// TestSmallPlansAreTheWhole drives farms on which arrivals, ends and changed demands are planned one by one, and
// holds each against a plan of everything: that one finds nothing to move, the same primaries and the same
// levels. Orders, locks and modifications come between, which are planned whole.
func TestSmallPlansAreTheWhole(t *testing.T) {
	var small, whole [2]uint64 // on farms that tell no memory, and on those that do
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		number := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, name) }
		r.do("policy", []string{fmt.Sprintf("min_run=%ds", 3*number("min_run", 0, 1)), fmt.Sprintf("settle=%ds", number("settle", 0, 1)),
			fmt.Sprintf("commit=%d", rapid.SampledFrom([]int{0, 0, 5, 20}).Draw(rt, "commit")), "primary=" + rapid.SampledFrom([]string{"aggressive", "passive", "disabled"}).Draw(rt, "primary")})
		hosts, memory, machines := number("hosts", 1, 4), number("memory", 0, 1), number("machines", 0, 1)
		for n := range hosts {
			tells := ""
			if memory == 1 {
				tells = fmt.Sprintf(" mem=%d", number("gigabytes", 4, 40))
				if machines == 1 {
					tells += fmt.Sprintf(" machine=m%d", number("machine", 0, 2))
				}
			}
			r.say(fmt.Sprintf("host h%d slots=%d groups=g%d", n, number("slots", 1, 5), number("kind", 0, 2)) + tells)
		}
		r.planned = func() {
			if text := farm.AgainstWhole(r.farm, r.now); text != "" {
				rt.Fatal(text)
			}
		}
		for range number("steps", 5, 40) {
			if memory == 0 || !smallMemoryStep(rt, r) {
				smallStep(rt, r, hosts)
			}
		}
		small[memory] += r.farm.Counts().SmallPlans
		whole[memory] += r.farm.Counts().WholePlans
	})
	t.Logf("without and with memory %d plans were small, %d whole", small, whole)
	if small[0] < whole[0]/4 || small[1] < whole[1]/8 {
		t.Errorf("without and with memory %d plans were small, %d whole: this tests little", small, whole)
	}
}

// smallMemoryStep does what only farms that tell their memory know; false if it has done nothing.
func smallMemoryStep(rt *rapid.T, r *rig) bool {
	bytes := func(name string, most int) string {
		return fmt.Sprintf("%dM", 128*rapid.IntRange(0, 8*most).Draw(rt, name))
	}
	switch verb := rapid.SampledFrom([]string{"", "", "submit", "finish", "finish", "uses", "foreign"}).Draw(rt, "memory verb"); verb {
	case "submit":
		r.say(fmt.Sprintf("submit j max=4 items=1-%d reservations=host.memory=%dMB", rapid.IntRange(1, 8).Draw(rt, "items"), 256*rapid.IntRange(1, 12).Draw(rt, "asked")))
	case "finish", "uses":
		w, id, ok := anyRunning(rt, r)
		if !ok {
			return false
		}
		w.owes = true
		if verb == "uses" {
			w.mem.resident[id] = gigabytes(bytes("resident", 3))
		} else {
			w.end(id, "exit", 0, "", 5)
			w.ends(id, []string{"peak=" + bytes("peak", 3)})
		}
		r.settle()
	case "foreign":
		r.say("foreign h0 " + bytes("foreign", 8))
	default:
		return false
	}
	return true
}

func smallStep(rt *rapid.T, r *rig, hosts int) {
	number := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, name) }
	job := fmt.Sprint(number("job", 1, max(1, len(r.rows.jobs))))
	switch verb := rapid.SampledFrom([]string{"submit", "submit", "submit", "finish", "finish", "finish", "finish", "finish", "fail", "advance", "modify", "kill",
		"lock", "unlock"}).Draw(rt, "verb"); verb {
	case "submit":
		where := rapid.SampledFrom([]string{"", "", " groups=g0", " groups=g1", " groups=g2", " groups=g0,g1", " hosts=h0", " hosts=h1"}).Draw(rt, "where")
		r.say(fmt.Sprintf("submit j cpus=%d max=%d items=1-%d retrywork=1 priority=%d", number("cpus", 1, 3), number("max", -1, 6),
			number("items", 1, 9), number("priority", 1, 3)) + where)
	case "finish", "fail":
		finishOne(rt, r, verb == "fail")
	case "advance":
		r.say(fmt.Sprintf("advance %ds", number("seconds", 1, 5)))
	case "modify":
		r.say(fmt.Sprintf("modify %s cpus=%d max=%d", job, number("cpus", 1, 4), number("max", -1, 5)))
	case "kill":
		if number("really", 0, 3) == 0 {
			r.say("kill " + job)
		}
	default:
		if number("really", 0, 3) == 0 {
			r.say(fmt.Sprintf("%s h%d", verb, number("host", 0, hosts-1)))
		}
	}
}
