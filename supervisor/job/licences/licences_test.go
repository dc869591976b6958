package licences

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/supervisor/job/facts"
)

var began = time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)

func book(has map[string]int64) *Book {
	b := New(nil)
	b.Configure(Policy{Fresh: time.Minute, Wait: 30 * time.Second}, has)
	return b
}

// The farm may hold its count of qb.conf, and never more than exist less what others use.
func TestAllowed(t *testing.T) {
	for _, c := range []struct{ has, total, outside, want int64 }{
		{100, -1, 0, 100}, {100, 120, 10, 100}, {100, 120, 30, 90}, {100, 120, 130, 0}, {100, -1, 30, 70}, {0, 5, 0, 0},
	} {
		b := book(map[string]int64{"license.nuke": c.has})
		r := Report{Name: "license.nuke", Outside: &c.outside}
		if c.total >= 0 {
			r.Total = &c.total
		}
		b.Take(began, r, "ann")
		if got := b.Allowed()["license.nuke"]; got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestReports(t *testing.T) {
	b, five := book(map[string]int64{"license.nuke": 10}), int64(5)
	if !b.Take(began, Report{Name: "license.nuke", Outside: &five}, "ann") || b.Take(began.Add(time.Second), Report{Name: "license.nuke", Outside: &five}, "ann") {
		t.Error("news are what has changed")
	}
	if s := b.Status(began.Add(62*time.Second), "license.nuke", 2); !s.Stale || s.Free() != 3 || s.Limits() != "of 10, 5 used outside of the farm, reported long ago" {
		t.Errorf("%+v: %s", s, s.Limits())
	}
	b.Take(began, Report{Name: "license.nuke", Forget: true}, "bob")
	if s := b.Status(began, "license.nuke", 2); s.Allowed != 10 || !s.ReportedAt.IsZero() || s.Stale {
		t.Errorf("%+v", s)
	}
}

// Items find that 5 of 10 are to be had: the farm takes no more, tries one more after a while, and waits longer each
// time.
func TestLower(t *testing.T) {
	b, now, name := book(map[string]int64{"license.nuke": 10}), began, "license.nuke"
	for held := int64(9); held >= 5; held-- {
		b.Lower(now, name, held)
	}
	if got := b.Allowed()[name]; got != 5 {
		t.Fatalf("%d", got)
	}
	var tries []time.Duration
	for len(tries) < 6 {
		now = now.Add(time.Second)
		if b.Raise(now) {
			tries = append(tries, now.Sub(began))
			if got := b.Allowed()[name]; got != 6 {
				t.Fatalf("it tries %d", got)
			}
			b.Lower(now, name, 5)
		}
	}
	want := []time.Duration{30 * time.Second, 90 * time.Second, 210 * time.Second, 450 * time.Second, 930 * time.Second, 1530 * time.Second}
	for n := range want {
		if tries[n] != want[n] {
			t.Fatalf("%v, want %v", tries, want)
		}
	}
	b.Found(name)
	b.Lower(now, name, 5)
	if s := b.Status(now, name, 5); s.LoweredUntil.Sub(now) != 30*time.Second {
		t.Errorf("%+v", s)
	}
	for n := 0; b.Allowed()[name] < 10; n++ {
		if now = now.Add(time.Minute); n > 60 {
			t.Fatal("it does not come back")
		}
		b.Raise(now)
	}
	if s := b.Status(now, name, 0); s.Lowered != -1 {
		t.Errorf("%+v", s)
	}
}

// What was written makes the same book again, and nothing that happens lets the farm hold more than is free.
func TestBookFromRows(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b, rows, now := book(map[string]int64{"license.a": 7, "global_host.b": 3}), map[string]facts.ResourceFacts{}, began
		names := rapid.SampledFrom([]string{"license.a", "global_host.b", "license.gone"})
		count := rapid.Int64Range(0, 9)
		for range rapid.IntRange(0, 30).Draw(r, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 100).Draw(r, "seconds")) * time.Second)
			name := names.Draw(r, "name")
			switch rapid.IntRange(0, 4).Draw(r, "what") {
			case 0:
				total, outside := count.Draw(r, "total"), count.Draw(r, "outside")
				if b.Known(name) {
					b.Take(now, Report{Name: name, Total: &total, Outside: &outside}, "ann")
					if most := b.Allowed()[name]; most > max(0, total-outside) {
						r.Fatalf("%s: %d of %d with %d outside", name, most, total, outside)
					}
				}
			case 1:
				b.Lower(now, name, count.Draw(r, "held"))
			case 2:
				b.Raise(now)
			case 3:
				b.Found(name)
			}
			b.Changed(func(w facts.Write) { rows[w.(facts.PutResource).Resource.Name] = w.(facts.PutResource).Resource })
			var list []facts.ResourceFacts
			for _, row := range rows {
				list = append(list, row)
			}
			again := New(list)
			again.Configure(b.policy, b.has)
			for name := range b.has {
				if was, is := b.Status(now, name, 1), again.Status(now, name, 1); was != is {
					r.Fatalf("%+v, and from the rows %+v", was, is)
				}
			}
		}
	})
}

// Jobs get no more seats than there are, run where they have some, and open others where there is room.
func TestGive(t *testing.T) {
	rooms := []HostCapacity{{"a", true, 0, 4, 4}, {"b", true, 4, 4, 4}, {"c", true, 2, 2, 4}, {"d", false, 4, 4, 4}}
	name := "license_host.maya"
	job := func(user string, wants int) SeatRequest {
		return SeatRequest{Names: []string{name}, User: user, Slots: 1, Wants: wants, Hosts: []int{0, 1, 2, 3}}
	}
	full := func(j SeatRequest, hosts ...int) SeatRequest { // these have no memory for it
		j.Room = func(h int, yield bool) int {
			if slices.Contains(hosts, h) {
				return 0
			}
			return 1
		}
		return j
	}
	for _, c := range []struct {
		what string
		p    Policy
		held map[string]map[Seat]bool
		left int64
		jobs []SeatRequest
		want [][]int
	}{
		{"one that wants little opens one", Policy{}, nil, 2, []SeatRequest{job("ann", 3)}, [][]int{{1}}},
		{"one that wants all opens what is left", Policy{}, nil, 2, []SeatRequest{job("ann", 30)}, [][]int{{1, 2}}},
		{"a taken seat is anybody's", Policy{}, map[string]map[Seat]bool{name: {{"c", ""}: true}}, 0, []SeatRequest{job("ann", 30), job("bob", 1)}, [][]int{{2}, {2}}},
		{"per user it is one user's", Policy{PerUser: []string{name}}, map[string]map[Seat]bool{name: {{"c", "ann"}: true}}, 0, []SeatRequest{job("ann", 30), job("bob", 1)}, [][]int{{2}, nil}},
		{"both open their own per user", Policy{PerUser: []string{name}}, nil, 2, []SeatRequest{job("ann", 4), job("bob", 4)}, [][]int{{1}, {1}}},
		{"a host without memory for it comes last", Policy{}, nil, 1, []SeatRequest{full(job("ann", 1), 1)}, [][]int{{2}}},
		{"a seat where nothing can start is not enough", Policy{}, map[string]map[Seat]bool{name: {{"b", ""}: true}}, 1, []SeatRequest{full(job("ann", 1), 1)}, [][]int{{1, 2}}},
		{"others give way before all is waited for", Policy{}, nil, 1, []SeatRequest{full(job("ann", 1), 1, 2)}, [][]int{{0}}},
		{"where all is full others may give way", Policy{}, nil, 3, []SeatRequest{job("ann", 30)}, [][]int{{0, 1, 2}}},
	} {
		held := c.held
		if held == nil {
			held = map[string]map[Seat]bool{}
		}
		got := Assign(c.p, rooms, c.jobs, held, map[string]int64{name: c.left})
		if len(got) != len(c.want) {
			t.Fatalf("%s: %v", c.what, got)
		}
		for n := range got {
			if len(got[n]) != len(c.want[n]) {
				t.Errorf("%s: %v, want %v", c.what, got, c.want)
				continue
			}
			for k := range got[n] {
				if got[n][k] != c.want[n][k] {
					t.Errorf("%s: %v, want %v", c.what, got, c.want)
				}
			}
		}
	}
}
