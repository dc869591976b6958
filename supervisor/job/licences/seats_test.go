package licences

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whatever jobs ask for, no more seats are opened than are left, a job is let run where it has its seats and nowhere
// that does not serve it, and seats that are held stay.
func TestGiveKeepsToSeats(t *testing.T) {
	names := []string{"license_host.a", "license_host.b"}
	rapid.Check(t, func(r *rapid.T) {
		rooms := make([]HostCapacity, rapid.IntRange(1, 8).Draw(r, "hosts"))
		for h := range rooms {
			all := rapid.IntRange(0, 5).Draw(r, "slots")
			free := rapid.IntRange(0, all).Draw(r, "free")
			rooms[h] = HostCapacity{fmt.Sprint(h), rapid.Bool().Draw(r, "up"), free, rapid.IntRange(free, all).Draw(r, "may"), all}
		}
		p := Policy{PerUser: names[:rapid.IntRange(0, 1).Draw(r, "per user")]}
		user := rapid.SampledFrom([]string{"ann", "bob"})
		held, left, before := map[string]map[Seat]bool{}, map[string]int64{}, map[string]int{}
		for _, name := range names {
			held[name], left[name] = map[Seat]bool{}, int64(rapid.IntRange(0, 4).Draw(r, "left"))
			for range rapid.IntRange(0, 4).Draw(r, "held") {
				held[name][p.SeatOf(name, rapid.SampledFrom(rooms).Draw(r, "host").Name, user.Draw(r, "holder"))] = true
			}
			before[name] = len(held[name])
		}
		jobs := make([]SeatRequest, rapid.IntRange(1, 6).Draw(r, "jobs"))
		for n := range jobs {
			jobs[n] = SeatRequest{Names: names[rapid.IntRange(0, 1).Draw(r, "from"):], User: user.Draw(r, "user"), Slots: rapid.IntRange(1, 3).Draw(r, "takes"), Wants: rapid.IntRange(0, 12).Draw(r, "wants")}
			if rapid.Bool().Draw(r, "choosy") {
				jobs[n].Hosts = []int{0}
			}
		}
		total := map[string]int64{}
		for _, name := range names {
			total[name] = left[name] + int64(before[name])
		}
		seated := Assign(p, rooms, jobs, held, left)
		for _, name := range names {
			if int64(len(held[name])) > max(total[name], int64(before[name])) || left[name]+int64(len(held[name])) != total[name] {
				r.Fatalf("%s: %d seats are taken and %d left of %d", name, len(held[name]), left[name], total[name])
			}
		}
		for n, hosts := range seated {
			if !slices.IsSorted(hosts) || len(slices.Compact(slices.Clone(hosts))) != len(hosts) {
				r.Fatalf("job %d: %v", n, hosts)
			}
			for _, h := range hosts {
				for _, name := range jobs[n].Names {
					if !jobs[n].servedBy(h) || !held[name][p.SeatOf(name, rooms[h].Name, jobs[n].User)] {
						r.Fatalf("job %d may run on host %d, where it has no seat of %s", n, h, name)
					}
				}
			}
		}
	})
}

// BenchmarkGive is 10,000 jobs that take one of 1,000 seats on 10,000 hosts, of which 900 have one.
func BenchmarkGive(b *testing.B) {
	const name = "license_host.a"
	rooms := make([]HostCapacity, 10_000)
	for h := range rooms {
		rooms[h] = HostCapacity{fmt.Sprint("h", h), true, 0, 5, 10}
	}
	jobs := slices.Repeat([]SeatRequest{{Names: []string{name}, User: "ann", Slots: 1, Wants: 100}}, 10_000)
	for b.Loop() {
		held := map[string]map[Seat]bool{name: {}}
		for h := range 900 {
			held[name][Seat{Host: fmt.Sprint("h", 10*h)}] = true
		}
		Assign(Policy{}, rooms, jobs, held, map[string]int64{name: 100})
	}
}
