package bestfit

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"

	"qb/smartshare"
	"qb/supervisor/planner"
)

// Room is what a host has for instances to come.
type Room struct {
	Ledger int64 // bytes that it may still promise
	Free   int   // slots
	Known  bool  // it has said how much memory it has, and takes instances now
}

// Asks is what the choice asks of the farm.
type Asks struct {
	Placement string // best_fit, spread, pack
	Room      func(host int) Room
	Left      func(host int, resource string) int64
	// Try says whether the start may be made on the host now, and if its need is not known what it would be promised there;
	// Enough where more would not help.
	Try func(start, host int) (fits bool, share int64)
}

// Enough is a share beside which no other host is looked at.
const Enough = int64(-1)

// entry is a host in the list of its class.
type entry struct {
	host   int
	ledger int64
	free   int
}

// Table is the hosts of a plan with what its starts will take of them.
type Table struct {
	ask     Asks
	plan    *planner.Snapshot
	starts  []planner.PlannedStart
	entries []entry   // by host: as it stands in its list
	class   []int     // by host
	lists   [][]entry // by class, hosts whose room is known, in the order in which they are tried
	members [][]int   // by class: all hosts
	slots   []int     // by host: meant for starts still to come
	bytes   []int64   // by host: the same of memory
	takes   map[int]map[string]int64
	later   [][]int32 // by host: the starts still to come that are meant for it
}

// New makes the table. allowed are the lists of hosts that jobs may use, by what tells them apart; nil is all hosts.
func New(plan *planner.Snapshot, starts []planner.PlannedStart, allowed map[string][]int, ask Asks) *Table {
	hosts := len(plan.Hosts)
	t := &Table{ask: ask, plan: plan, starts: starts, entries: make([]entry, hosts), slots: make([]int, hosts), bytes: make([]int64, hosts),
		takes: map[int]map[string]int64{}, later: make([][]int32, hosts)}
	for n := range starts {
		t.mean(n, 1)
	}
	t.classify(allowed)
	return t
}

// classify puts hosts that the same jobs may use, and that rank them alike, into one list each.
func (t *Table) classify(allowed map[string][]int) {
	marks := make([]uint64, len(t.entries))
	mark := func(n int, text string) {
		h := fnv.New64a()
		h.Write([]byte(text))
		marks[n] ^= h.Sum64() // the lists come in no order
	}
	for key, list := range allowed {
		for _, n := range list {
			mark(n, key)
		}
	}
	number := map[uint64]int{}
	for n := range t.entries {
		if t.ranks() {
			mark(n, "\x00cluster "+t.plan.Hosts[n].Cluster)
		}
		c, known := number[marks[n]]
		if !known {
			c = len(t.lists)
			number[marks[n]] = c
			t.lists, t.members = append(t.lists, nil), append(t.members, nil)
		}
		t.class, t.members[c] = append(t.class, c), append(t.members[c], n)
		if r := t.ask.Room(n); r.Known && r.Free > 0 {
			t.entries[n] = entry{n, r.Ledger, r.Free}
			t.lists[c] = append(t.lists[c], t.entries[n])
		}
	}
	for _, list := range t.lists {
		slices.SortFunc(list, t.compare)
	}
}

// ranks says whether hosts of several clusters rank jobs each for itself.
func (t *Table) ranks() bool {
	return len(t.plan.Policy.Order) > 0 && t.plan.Policy.Order[0] == smartshare.ByCluster.String()
}

// compare orders hosts as the site wants them tried.
func (t *Table) compare(a, b entry) int {
	ledger, free := cmp.Compare(a.ledger, b.ledger), cmp.Compare(a.free, b.free)
	switch t.ask.Placement {
	case "spread":
		return cmp.Or(-ledger, -free, cmp.Compare(a.host, b.host))
	case "pack":
		return cmp.Or(free, ledger, cmp.Compare(a.host, b.host))
	}
	return cmp.Or(ledger, free, cmp.Compare(a.host, b.host))
}

// mean notes that start n is meant for its host, or with by -1 that it is not any more.
func (t *Table) mean(n, by int) {
	s := t.starts[n]
	job := &t.plan.Jobs[s.Job]
	t.slots[s.Host] += by * job.Slots
	t.bytes[s.Host] += int64(by) * job.Memory
	for name, amount := range job.Takes {
		if strings.HasPrefix(name, "host.") {
			if t.takes[s.Host] == nil {
				t.takes[s.Host] = map[string]int64{}
			}
			t.takes[s.Host][name] += int64(by) * amount
		}
	}
	if by > 0 {
		t.later[s.Host] = append(t.later[s.Host], int32(n))
		return
	}
	at := slices.Index(t.later[s.Host], int32(n))
	t.later[s.Host] = slices.Delete(t.later[s.Host], at, at+1)
}

// Coming is how many slots of the host are meant for starts still to come.
func (t *Table) Coming(host int) int { return t.slots[host] }

// Changed puts a host, something of which was promised, where it belongs now.
func (t *Table) Changed(host int) {
	list := t.lists[t.class[host]]
	at, listed := slices.BinarySearchFunc(list, t.entries[host], t.compare)
	if !listed || list[at].host != host {
		return
	}
	list = slices.Delete(list, at, at+1)
	if r := t.ask.Room(host); r.Free > 0 {
		t.entries[host] = entry{host, r.Ledger, r.Free}
		to, _ := slices.BinarySearchFunc(list, t.entries[host], t.compare)
		list = slices.Insert(list, to, t.entries[host])
	}
	t.lists[t.class[host]] = list
}
