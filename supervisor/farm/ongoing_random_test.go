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
	small, whole := uint64(0), uint64(0)
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		number := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, name) }
		r.do("policy", []string{fmt.Sprintf("min_run=%ds", 3*number("min_run", 0, 1)), fmt.Sprintf("settle=%ds", number("settle", 0, 1)),
			"primary=" + rapid.SampledFrom([]string{"aggressive", "passive", "disabled"}).Draw(rt, "primary")})
		hosts := number("hosts", 1, 4)
		for n := range hosts {
			r.say(fmt.Sprintf("host h%d slots=%d groups=g%d", n, number("slots", 1, 5), number("kind", 0, 2)))
		}
		r.planned = func() {
			if text := farm.AgainstWhole(r.farm, r.now); text != "" {
				rt.Fatal(text)
			}
		}
		for range number("steps", 5, 40) {
			smallStep(rt, r, hosts)
		}
		small, whole = small+r.farm.Counts().SmallPlans, whole+r.farm.Counts().WholePlans
	})
	if small < whole/4 {
		t.Errorf("%d plans were small, %d whole: this tests little", small, whole)
	}
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
