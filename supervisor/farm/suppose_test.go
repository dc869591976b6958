package farm_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"qb/supervisor/farm/message"
)

// TestSnapshotWith: the snapshot with a submission is what the farm gives once the job is submitted, whatever orders,
// bounds and shares jobs; and supposing it changes nothing.
func TestSnapshotWith(t *testing.T) {
	tried := 0
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.do("policy", []string{"lease=60s", rapid.SampledFrom([]string{"", "user_limits=u1:3", "pgrp_limits=*:2"}).Draw(rt, "limits"), "fairshare=" + rapid.SampledFrom([]string{"true", "false"}).Draw(rt, "fairshare"),
			"cpu_share=" + rapid.SampledFrom([]string{"off", "stride", "lottery"}).Draw(rt, "sharing"), "cpu_share_by=" + rapid.SampledFrom([]string{"users", "jobs"}).Draw(rt, "by")})
		hosts := rapid.IntRange(1, 3).Draw(rt, "hosts")
		for n := range hosts {
			r.say(fmt.Sprintf("host h%d slots=%d groups=g%d", n, rapid.IntRange(1, 4).Draw(rt, "slots"), n%2))
		}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			randomStep(rt, r, hosts)
			words := []string{"tried", "user=" + rapid.SampledFrom([]string{"u1", "u2"}).Draw(rt, "user"), fmt.Sprintf("cpus=%d", rapid.IntRange(1, 3).Draw(rt, "cpus")),
				fmt.Sprintf("items=1-%d", rapid.IntRange(1, 9).Draw(rt, "items")), "groups=" + rapid.SampledFrom([]string{"", "g0", "g1"}).Draw(rt, "groups")}
			if n := rapid.IntRange(0, len(r.rows.jobs)).Draw(rt, "after"); n > 0 {
				words = append(words, fmt.Sprintf("after=link-%s-job-%d", rapid.SampledFrom([]string{"complete", "complete-work"}).Draw(rt, "what"), n))
			}
			e := r.submission(words)
			before := r.farm.Snapshot(r.now)
			with, supposed, refusal := r.farm.SnapshotWith(r.now, []message.JobSubmitted{e})
			r.farm.ExplainSubmission(r.now, e)
			if err := r.farm.Check(); err != nil {
				rt.Fatal(err)
			}
			if after := r.farm.Snapshot(r.now); !reflect.DeepEqual(before, after) {
				rt.Fatalf("supposing %s changed\n%+v to\n%+v", strings.Join(words, " "), before, after)
			}
			for n, vtime := range supposed.VTimes {
				with.Jobs[n].VTime = vtime
			}
			if refusal != nil || len(e.Parents) > 0 {
				continue
			}
			e.Ticket = r.newTicket()
			r.farm.Step(r.now, e)
			made := r.farm.Snapshot(r.now)
			for n := range before.Jobs { // an owner without any job until now shifts the factors of others
				with.Jobs[n].Fairshare = made.Jobs[n].Fairshare
			}
			if planned := len(made.Jobs) - len(before.Jobs); planned != supposed.Planned || !reflect.DeepEqual(with.Jobs, made.Jobs) || !reflect.DeepEqual(with.Limits, made.Limits) || !reflect.DeepEqual(with.Resources, made.Resources) {
				rt.Fatalf("%s: supposed was %v\n%+v\nit became\n%+v", strings.Join(words, " "), supposed, with.Jobs, made.Jobs)
			}
			if supposed.Planned > 0 {
				tried++
			}
			r.settle()
		}
	})
	if !testing.Short() && tried < 50 {
		t.Errorf("%d submissions were compared", tried)
	}
}
