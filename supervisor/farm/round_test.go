package farm

import (
	"testing"

	"pgregory.net/rapid"

	"qb/supervisor/farm/model"
)

// While no host comes or goes each is looked at once in a round, whatever the size of a part and what is left of it.
func TestRound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		hosts := make([]*model.Host, rapid.IntRange(1, 40).Draw(rt, "hosts"))
		for n := range hosts {
			hosts[n] = &model.Host{}
		}
		r := round{at: rapid.IntRange(0, 60).Draw(rt, "at")}
		for last := r.at == 0; !last; { // to the end of a round that had begun with others
			_, last = r.next(hosts, 7)
		}
		seen := map[*model.Host]int{}
		for last := false; !last; {
			var part []*model.Host
			part, last = r.next(hosts, rapid.IntRange(1, 50).Draw(rt, "most"))
			left := rapid.IntRange(0, len(part)-1).Draw(rt, "left")
			for _, h := range part[:len(part)-left] {
				seen[h]++
			}
			if r.back(left); left > 0 {
				last = false
			}
		}
		for n, h := range hosts {
			if seen[h] != 1 {
				rt.Fatalf("host %d of %d was looked at %d times in a round", n, len(hosts), seen[h])
			}
		}
	})
}
