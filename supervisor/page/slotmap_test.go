package page

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// farm is hosts full of instances of these jobs, at random.
func farm(hosts, slots, jobs int) []*message.HostView {
	r := rand.New(rand.NewPCG(1, 2))
	var all []*message.HostView
	for n := range hosts {
		h := &message.HostView{HostFacts: facts.HostFacts{ID: facts.HostID(fmt.Sprintf("rn%05d", n)), Slots: slots},
			State: "up", Used: slots}
		for range slots {
			kind := facts.Primary
			if r.IntN(3) == 0 {
				kind = facts.Secondary
			}
			h.Instances = append(h.Instances,
				message.InstanceView{Job: facts.JobID(1 + r.IntN(jobs)), Kind: kind, State: "active", Slots: 1})
		}
		all = append(all, h)
	}
	return all
}

// TestSlotMapBytes: 160,000 slots, each with an instance of any of 1,000 jobs, have a limit.
func TestSlotMapBytes(t *testing.T) {
	const most = 250_000
	for _, c := range []struct{ hosts, slots int }{{10_000, 16}, {5000, 32}, {1250, 128}} {
		data, err := json.Marshal(SlotMap(slices.Values(farm(c.hosts, c.slots, 1000)), time.Unix(1, 0)))
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, 5) // as the supervisor
		_, _ = w.Write(data)                    // to memory
		_ = w.Close()
		t.Logf("%d hosts of %d slots: %d bytes, %d compressed", c.hosts, c.slots, len(data), packed.Len())
		if packed.Len() > most {
			t.Errorf("%d hosts of %d slots take %d bytes compressed, more than %d", c.hosts, c.slots, packed.Len(), most)
		}
	}
}

// TestSlotMapRuns: what the columns say, read back, is what runs on each host.
func TestSlotMapRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var hosts []*message.HostView
		for n := range rapid.IntRange(0, 5).Draw(t, "hosts") {
			h := &message.HostView{HostFacts: facts.HostFacts{ID: facts.HostID(fmt.Sprint("h", n)), Slots: 64},
				State: rapid.SampledFrom([]string{"up", "locked", "lost", "unreachable"}).Draw(t, "state"),
				Away:  rapid.IntRange(0, 3).Draw(t, "away")}
			for range rapid.IntRange(0, 12).Draw(t, "instances") {
				h.Instances = append(h.Instances, message.InstanceView{
					Job: facts.JobID(rapid.IntRange(1, 4).Draw(t, "job")), Slots: rapid.IntRange(1, 3).Draw(t, "slots"),
					Kind:  rapid.SampledFrom([]facts.Kind{facts.Primary, facts.Secondary}).Draw(t, "kind"),
					State: rapid.SampledFrom([]string{"active", "draining", "stopping"}).Draw(t, "doing"),
				})
			}
			hosts = append(hosts, h)
		}
		m, at := SlotMap(slices.Values(hosts), time.Unix(1, 0)), 0
		for n, h := range hosts {
			left := map[instanceRun]int{}
			for i := range h.Instances {
				left[instanceRun{int64(h.Instances[i].Job), kind(&h.Instances[i]), h.Instances[i].Slots}]++
			}
			if m.Hosts[n] != string(h.ID) || m.Slots[n] != 64 || m.Foreign[n] != h.Away ||
				m.States[n] != map[string]byte{"up": 'u', "locked": 'k', "unreachable": 'n', "lost": 'l'}[h.State] {
				t.Fatalf("host %d is %s %d %d %c", n, m.Hosts[n], m.Slots[n], m.Foreign[n], m.States[n])
			}
			job := int64(0)
			for range m.Runs[n] {
				job += m.Jobs[at]
				r := instanceRun{job, m.Kinds[at], m.Each[at]}
				if left[r] != m.Count[at] {
					t.Fatalf("host %d has %d of %+v, the map says %d", n, left[r], r, m.Count[at])
				}
				delete(left, r)
				at++
			}
			if len(left) > 0 {
				t.Fatalf("the map lacks %v of host %d", left, n)
			}
		}
		if at != len(m.Jobs) || at != len(m.Kinds) || at != len(m.Each) || at != len(m.Count) {
			t.Fatalf("%d runs are read, the columns have %d, %d, %d and %d", at, len(m.Jobs), len(m.Kinds), len(m.Each),
				len(m.Count))
		}
	})
}
