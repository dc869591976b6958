package planner

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// dice draws evenly from a seed; rapid's own ranges prefer small numbers.
type dice uint64

func (d *dice) roll(least, most int) int {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return least + int((z^z>>31)%uint64(most-least+1))
}

func (d *dice) chance(percent int) bool { return d.roll(1, 100) <= percent }

// style is the kind of farm that a property is about.
type style struct {
	hosts    bool // host lists; else one pool
	wide     bool // shapes differ
	big      bool // beyond what can be searched
	preempt  []string
	weights  bool
	extras   bool // protected instances, hosts down, no promotion
	ranked   bool // hosts of several clusters, which rank jobs
	owned    bool // the surplus is divided by user; a user's jobs weigh the same
	memory   bool // hosts and jobs of one width have memory
	promised bool // what instances were promised differs from what their jobs ask for
	takes    bool // instances take GPUs of their hosts and licences of the farm
	limited  bool // users, and process groups of theirs, have limits
}

var anyPreempt = []string{"aggressive", "passive", "disabled"}

// drawFarm makes a farm in which what runs fits and may run where it does, but nothing need be balanced.
func drawFarm(d *dice, st style) Snapshot {
	s := Snapshot{Now: 1000, Cluster: "/", Policy: SharePolicy{Mode: "jobs", Preempt: st.preempt[d.roll(0, len(st.preempt)-1)],
		DefaultMaxCPUs: d.roll(-1, 5), MaxCPUsLimit: d.roll(3, 12), ShareUnit: "slots", Promote: true,
		Order: []string{"priority", "cluster", "fairshare", "vtime", "age", "id"}}}
	if st.ranked || d.chance(30) {
		s.Policy.Order[0], s.Policy.Order[1] = "cluster", "priority"
	}
	if d.chance(20) {
		s.Policy.ShareUnit = "instances"
	}
	if d.chance(5) {
		s.Policy.Mode = "none"
	}
	s.Policy.Promote = !st.extras || d.chance(70)
	scale := 1
	if st.big {
		scale = 4
	}
	hosts := 1
	if st.hosts {
		hosts = d.roll(1, 3*scale)
	}
	for h := range hosts {
		host := SnapHost{Name: fmt.Sprintf("h%02d", h), Slots: d.roll(1, 4), Memory: -1, Cluster: "/", Up: !st.extras || !d.chance(15)}
		if st.ranked {
			host.Cluster = []string{"/", "/a", "/a/b"}[d.roll(0, 2)]
		}
		if !st.hosts {
			host.Slots = d.roll(1, 9*scale)
		}
		if st.wide {
			host.Slots += d.roll(0, 4)
			host.Memory = int64(d.roll(2, 24))
		}
		if st.memory {
			host.Memory = int64(d.roll(2, 20))
		}
		s.Hosts = append(s.Hosts, host)
	}
	for j := range d.roll(1, 3+scale) {
		s.Jobs = append(s.Jobs, drawJob(d, st, hosts, j))
	}
	if st.owned {
		drawUsers(d, &s)
	}
	if st.takes {
		drawResources(d, &s)
	}
	if st.limited {
		drawLimits(d, &s)
	}
	drawRunning(d, st, &s)
	drawOwners(d, &s)
	return s
}

// drawOwners has fairshare rank owners in some farms, with what operators gave.
func drawOwners(d *dice, s *Snapshot) {
	if !d.chance(30) {
		return
	}
	terms := smartshare.OwnersPriorityOrder
	if s.Policy.Order[0] == "cluster" {
		terms = smartshare.OwnersClusterOrder
	}
	s.Policy.Order, s.Policy.DefaultPriority = nil, 2
	for _, t := range terms {
		s.Policy.Order = append(s.Policy.Order, t.String())
	}
	for j := range s.Jobs {
		job := &s.Jobs[j]
		if job.User == "" {
			job.User = fmt.Sprintf("u%d", d.roll(1, 3))
		}
		job.Operator = []int{0, 0, 0, 1, 2, 3}[d.roll(0, 5)]
	}
}

func drawJob(d *dice, st style, hosts, n int) SnapJob {
	j := SnapJob{ID: fmt.Sprintf("%c", 'A'+n), Priority: d.roll(1, 3), Submit: int64(d.roll(1, 3)), CPUs: d.roll(1, 3), Remaining: d.roll(0, 12),
		Agenda: !d.chance(10), Slots: 1, Weight: 1, Fairshare: float64(d.roll(0, 4)) / 4, VTime: float64(d.roll(0, 2)),
		Cluster: []string{"/", "/a", "/a/b"}[d.roll(0, 2)]}
	if d.chance(10) {
		j.Remaining = -1
	}
	if d.chance(80) {
		width := d.roll(-1, 9)
		j.MaxCPUs = &width
	}
	if st.weights {
		j.Weight = float64(d.roll(1, 8)) / 4
	}
	if st.wide {
		j.Slots, j.Memory = d.roll(1, 3), int64(d.roll(0, 8))
	}
	if st.memory {
		j.Memory = int64([]int{1, 3, 3, 6}[d.roll(0, 3)])
	}
	if st.hosts && d.chance(70) {
		j.Eligible = []int{}
		for h := range hosts {
			if d.chance(60) {
				j.Eligible = append(j.Eligible, h)
			}
		}
	}
	return j
}

func drawUsers(d *dice, s *Snapshot) {
	s.Policy.Mode = "users"
	weights := map[string]float64{}
	for j := range s.Jobs {
		job := &s.Jobs[j]
		job.User = fmt.Sprintf("u%d", d.roll(1, 3))
		if weights[job.User] == 0 {
			weights[job.User] = job.Weight
		}
		job.Weight = weights[job.User]
	}
}

// drawRunning lets instances run wherever they fit, so full, half full and badly shared farms come up.
func drawRunning(d *dice, st style, s *Snapshot) {
	slots, memory := make([]int, len(s.Hosts)), make([]int64, len(s.Hosts))
	items, primaries := make([]int, len(s.Jobs)), make([]int, len(s.Jobs))
	for h := range s.Hosts {
		slots[h], memory[h] = s.Hosts[h].Slots, s.Hosts[h].Memory
	}
	used := newStock(s)
	for n := range d.roll(0, 1) * d.roll(0, 20) {
		j, h := d.roll(0, len(s.Jobs)-1), d.roll(0, len(s.Hosts)-1)
		job := &s.Jobs[j]
		takes := job.Memory
		if st.promised && d.chance(60) {
			takes = int64(d.roll(1, 9))
		}
		fits := job.Slots <= slots[h] && (s.Hosts[h].Memory < 0 || takes <= memory[h])
		if !fits || job.Eligible != nil && !slices.Contains(job.Eligible, h) && !(st.extras && d.chance(20)) {
			continue
		}
		if !used.suffices(job, h) {
			continue
		}
		used.take(job, h)
		slots[h] -= job.Slots
		memory[h] -= takes
		r := SnapInstance{ID: fmt.Sprintf("i%02d", n), Job: j, Host: h, Started: float64(d.roll(0, 900)), Protected: st.extras && d.chance(10), Draining: st.extras && d.chance(10)}
		if st.promised {
			r.Memory = takes
		}
		if primaries[j] >= job.CPUs && !d.chance(10) || d.chance(40) {
			r.Kind = facts.Secondary
		} else {
			primaries[j]++
		}
		if job.Remaining < 0 || items[j] < job.Remaining {
			items[j]++
			r.HasItem, r.ItemStarted = true, 1000-float64(d.roll(0, 20))
			r.LostWork = 1000 - r.ItemStarted
		}
		s.Running = append(s.Running, r)
	}
}

// farmsPerProperty is a thousand, or what QB_SHARE_FARMS says (make sim-share).
func farmsPerProperty(t *testing.T) int {
	text := os.Getenv("QB_SHARE_FARMS")
	if text == "" {
		return 1000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 100 {
		t.Fatalf("QB_SHARE_FARMS=%s: a number of at least 100", text)
	}
	return n
}

// eachFarm checks a property on many farms of a style, a hundredth of them in each of rapid's checks.
func eachFarm(t *testing.T, st style, check func(f *checked)) {
	t.Helper()
	per := farmsPerProperty(t) / 100
	rapid.Check(t, func(t *rapid.T) {
		d := dice(rapid.Uint64().Draw(t, "seed"))
		for range per {
			s := drawFarm(&d, st)
			check(&checked{T: t, s: s, p: Balance(s), d: &d})
		}
	})
}

// checked is a farm with its balance, under test.
type checked struct {
	*rapid.T
	s Snapshot
	p Plan
	d *dice
}

// fail ends the test with the farm in words.
func (f *checked) fail(format string, args ...any) {
	f.Helper()
	text, _ := json.Marshal(f.s)
	plan, _ := json.Marshal(f.p)
	f.Fatalf("%s\nfarm %s\nplan %s", fmt.Sprintf(format, args...), text, plan)
}

// applied is the snapshot after the plan has been made true.
func applied(s Snapshot, p Plan) Snapshot {
	gone := make(map[int]bool)
	for _, i := range slices.Concat(p.Stop, p.Leaving) {
		gone[i] = true
	}
	after := relabelled(s, p)
	after.Running = nil
	for i, r := range relabelled(s, p).Running {
		if !gone[i] {
			after.Running = append(after.Running, r)
		}
	}
	for n, start := range p.Starts {
		after.Running = append(after.Running, startedOf(s, start, fmt.Sprintf("n%d-%d", len(s.Running), n), n))
	}
	return after
}

func startedOf(s Snapshot, start PlannedStart, id string, n int) SnapInstance {
	began := s.Now - float64(n%100)
	return SnapInstance{ID: id, Job: start.Job, Host: start.Host, Kind: start.Kind, Started: began, ItemStarted: began,
		HasItem: true, LostWork: s.Now - began}
}

// relabelled is the snapshot with promotions and demotions made.
func relabelled(s Snapshot, p Plan) Snapshot {
	s.Running = slices.Clone(s.Running)
	for _, i := range p.Promoted {
		s.Running[i].Kind = facts.Primary
	}
	for _, i := range p.Demoted {
		s.Running[i].Kind = facts.Secondary
	}
	return s
}
