package farm_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

var lessMemory = regexp.MustCompile(`change: with (\d+) (MiB|GiB) (\d+) (?:more )?hosts? would fit`)

// TestLessMemoryIsWhatMoreHostsTake recounts the change that an explanation offers, and submits it.
func TestLessMemoryIsWhatMoreHostsTake(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		sizes := []float64{1.53, 3, 7.37, 12.6, 12.9, 16}
		var has []float64
		for n := range rapid.IntRange(1, 5).Draw(rt, "hosts") {
			has = append(has, rapid.SampledFrom(sizes).Draw(rt, "size"))
			r.say(fmt.Sprintf("host h%d slots=1 mem=%v", n, has[n]))
		}
		asks := rapid.IntRange(1, 20).Draw(rt, "asks")
		r.say(fmt.Sprintf("submit p items=1-2 reservations=host.memory=%dGB", asks))
		below, fit := 0.0, 0
		for _, size := range has {
			if size < float64(asks) {
				below = max(below, size)
			} else {
				fit++
			}
		}
		m := lessMemory.FindStringSubmatch(r.say("explain 1"))
		if (m == nil) != (below == 0) {
			rt.Fatalf("hosts of %v GB, %d GB are asked for; it offers %q", has, asks, m)
		}
		if m == nil {
			return
		}
		offered, _ := strconv.ParseFloat(m[1], 64)
		if m[2] == "MiB" {
			offered /= 1024
		}
		more := -fit
		for _, size := range has {
			if offered <= size {
				more++
			}
		}
		if offered > below || offered < below-1 || fmt.Sprint(more) != m[3] {
			rt.Fatalf("hosts of %v GB, %d GB are asked for; it offers %q, the next lower host has %v and %d more fit", has, asks, m[0], below, more)
		}
		r.say("submit q items=1-2 reservations=host.memory=" + m[1] + m[2])
		if says := r.say("explain 2"); !regexp.MustCompile(fmt.Sprintf(`%d of them serve this job`, fit+more)).MatchString(says) {
			rt.Fatalf("with %s%s %d hosts should serve it: %s", m[1], m[2], fit+more, says)
		}
	})
}
