package planner

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"qb/smartshare"
)

// entry is a host in the list of its class.
type entry struct {
	host   int
	ledger int64
	free   int
}

// hostTable is the hosts of a plan with what its starts will take of them.
type hostTable struct {
	*ledger
	s       *Snapshot
	starts  []PlannedStart
	entries []entry   // by host: as it is in its list
	class   []int     // by host
	lists   [][]entry // by class, hosts whose room is known, in the order in which they are tried
	members [][]int   // by class: all hosts
	slots   []int     // by host: meant for starts still to come
	bytes   []int64   // by host: the same of memory
	takes   map[int]map[string]int64
	later   [][]int32 // by host: the starts still to come that are meant for it
}

func newHostTable(s *Snapshot, starts []PlannedStart, r *ledger) *hostTable {
	hosts := len(s.Hosts)
	t := &hostTable{
		ledger: r, s: s, starts: starts, entries: smartshare.Lend[entry](r.scratch, hosts),
		slots: smartshare.Lend[int](r.scratch, hosts), bytes: smartshare.Lend[int64](r.scratch, hosts),
		class: smartshare.Lend[int](r.scratch, hosts), takes: map[int]map[string]int64{},
		later: smartshare.Lend[[]int32](r.scratch, hosts),
	}
	for n := range starts {
		t.mean(n, 1)
	}
	t.classify()
	return t
}

// classify puts hosts that the same jobs may use, and that rank them alike, into one list each.
func (t *hostTable) classify() {
	marks := smartshare.Lend[uint64](t.scratch, len(t.entries))
	mark := func(n int, text string) {
		h := fnv.New64a()
		h.Write([]byte(text))
		marks[n] ^= h.Sum64() // the lists come in no order
	}
	seen := map[*int]bool{} // jobs that ask for the same share a list
	for j := range t.s.Jobs {
		list := t.s.Jobs[j].Eligible
		if len(list) == 0 || seen[&list[0]] {
			continue
		}
		seen[&list[0]] = true
		key := strconv.Itoa(len(seen))
		for _, n := range list {
			mark(n, key)
		}
	}
	number, sizes, ranks := map[uint64]int{}, []int(nil), t.ranks()
	for n := range t.entries {
		if ranks {
			mark(n, "\x00cluster "+t.s.Hosts[n].Cluster)
		}
		c, known := number[marks[n]]
		if !known {
			c = len(sizes)
			number[marks[n]] = c
			sizes = append(sizes, 0)
		}
		t.class[n] = c
		sizes[c]++
	}
	t.lists, t.members = make([][]entry, len(sizes)), make([][]int, len(sizes))
	lists, members := smartshare.Lend[entry](t.scratch, len(t.entries)), smartshare.Lend[int](t.scratch, len(t.entries))
	for c, size := range sizes {
		t.lists[c], lists = lists[:0:size], lists[size:]
		t.members[c], members = members[:0:size], members[size:]
	}
	for n, c := range t.class {
		t.members[c] = append(t.members[c], n)
		if r := &t.present[n]; r.Limited && t.s.Hosts[n].Up && r.Free > 0 {
			t.entries[n] = t.entry(n)
			t.lists[c] = append(t.lists[c], t.entries[n])
		}
	}
	for _, list := range t.lists {
		slices.SortFunc(list, t.compare)
	}
}

// ranks says whether hosts of several clusters rank jobs each for itself.
func (t *hostTable) ranks() bool {
	return t.s.Policy.byClusterFirst()
}

// compare orders hosts as the site wants them tried.
func (t *hostTable) compare(a, b entry) int {
	ledger, free := cmp.Compare(a.ledger, b.ledger), cmp.Compare(a.free, b.free)
	switch t.s.Policy.Placement {
	case "spread":
		return cmp.Or(-ledger, -free, cmp.Compare(a.host, b.host))
	case "pack":
		return cmp.Or(free, ledger, cmp.Compare(a.host, b.host))
	}
	return cmp.Or(ledger, free, cmp.Compare(a.host, b.host))
}

func (t *hostTable) entry(host int) entry {
	return entry{host, t.present[host].Promisable(), t.present[host].Free}
}

// mean notes that start n is meant for its host, or with by -1 that it is not any more.
func (t *hostTable) mean(n, by int) {
	s := t.starts[n]
	job := &t.s.Jobs[s.Job]
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

// changed puts a host, something of which was promised, where it belongs now.
func (t *hostTable) changed(host int) {
	list := t.lists[t.class[host]]
	at, listed := slices.BinarySearchFunc(list, t.entries[host], t.compare)
	if !listed || list[at].host != host {
		return
	}
	list = slices.Delete(list, at, at+1)
	if t.present[host].Free > 0 {
		t.entries[host] = t.entry(host)
		to, _ := slices.BinarySearchFunc(list, t.entries[host], t.compare)
		list = slices.Insert(list, to, t.entries[host])
	}
	t.lists[t.class[host]] = list
}
