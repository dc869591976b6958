package farm_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestSeatsThatLeave: when there are fewer of a resource that is counted per seat than are held, or none, nothing starts
// on it until no more are held than there are, and that is so at the latest when each instance has ended an item.
func TestSeatsThatLeave(t *testing.T) {
	held := regexp.MustCompile(`license_host\.x per [a-z-]+: (\d+) held`)
	fell := 0
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		number := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, name) }
		perUser := rapid.SampledFrom([]string{"", " per_user=license_host.x"}).Draw(rt, "counted")
		taken := func() int {
			n := 0
			for _, s := range r.farm.Resources(r.now) {
				if found := held.FindStringSubmatch(r.resourceText(s)); found != nil {
					n, _ = strconv.Atoi(found[1])
				}
			}
			return n
		}
		r.say("policy default=-1 resources=license_host.x:" + fmt.Sprint(number("first", 1, 4)) + perUser)
		slots := 0
		for n := range number("hosts", 1, 4) {
			more := number("slots", 1, 4)
			r.say(fmt.Sprintf("host h%d slots=%d", n, more))
			slots += more
		}
		for range number("jobs", 1, 4) {
			takes := rapid.SampledFrom([]string{" reservations=license_host.x=1", " reservations=license_host.x=1", ""}).Draw(rt, "takes")
			r.say(fmt.Sprintf("submit j user=u%d cpus=%d items=1-99%s", number("user", 1, 2), number("cpus", 1, 6), takes))
		}
		before, now := taken(), number("now", 0, 3)
		r.say("policy default=-1 resources=license_host.x:" + fmt.Sprint(now) + perUser)
		if now < before {
			fell++
		}
		for range slots {
			at, id, ok := anyRunning(rt, r)
			if !ok {
				break
			}
			at.end(id, "exit", 0, "", 1)
			r.settle()
			after := taken()
			if after > max(now, before) {
				rt.Fatalf("%d seats are held after %d, and there are %d", after, before, now)
			}
			before = after
		}
		for _, w := range r.sortedWorkers() {
			for _, id := range slices.Clone(w.running) {
				if taken() > now {
					w.end(id, "exit", 0, "", 1)
					r.settle()
				}
			}
		}
		if n := taken(); n > now {
			rt.Fatalf("%d seats are held, and there are %d", n, now)
		}
	})
	if !testing.Short() && fell < 10 {
		t.Error("there were seldom fewer: ", fell)
	}
}
