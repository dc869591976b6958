package items

import (
	"slices"
	"time"

	"qb/supervisor/job/facts"
)

// Strikes are failed attempts that speak against a host: no item of the job has been done there since, and the item has
// failed on no other host.
type Strikes struct {
	on    map[facts.HostID][]strike
	where map[facts.ItemNo]facts.HostID // the first host on which an unfinished item failed
}

type strike struct {
	item facts.ItemNo
	at   time.Time
}

// maxStrikes is how many are remembered of one host, and of how many items it is known where they failed.
const (
	maxStrikes   = 64
	maxStruckOut = 100_000
)

// Failed notes that an item failed on a host. An item that failed on another host too is at fault itself.
func (s *Strikes) Failed(host facts.HostID, item facts.ItemNo, at time.Time) {
	if s.on == nil {
		s.on, s.where = map[facts.HostID][]strike{}, map[facts.ItemNo]facts.HostID{}
	}
	first, known := s.where[item]
	if known && first != host {
		s.forgive(first, item)
		return
	}
	if !known && len(s.where) < maxStruckOut {
		s.where[item] = host
	}
	if list := s.on[host]; len(list) < maxStrikes {
		s.on[host] = append(list, strike{item, at})
	}
}

func (s *Strikes) forgive(host facts.HostID, item facts.ItemNo) {
	left := slices.DeleteFunc(s.on[host], func(k strike) bool { return k.item == item })
	if s.on[host] = left; len(left) == 0 {
		delete(s.on, host)
	}
}

// Done notes that an item was done on a host, which speaks for the host.
func (s *Strikes) Done(host facts.HostID, item facts.ItemNo) {
	delete(s.on, host)
	delete(s.where, item)
}

// Against is how many there are against a host since a moment.
func (s *Strikes) Against(host facts.HostID, since time.Time) (n int) {
	for _, k := range s.on[host] {
		if k.at.After(since) {
			n++
		}
	}
	return n
}

// Clear forgets those against a host.
func (s *Strikes) Clear(host facts.HostID) { delete(s.on, host) }
