package eventstream

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/translate"
)

// Stream keeps the latest events in a ring. A reader has a position in it and no queue of its own. An overtaken reader
// is disconnected, and on its return the answer says that it must read the lists again.
type Stream struct {
	Nonce string // of this process; places of another one mean nothing here

	mu   sync.Mutex
	ring [streamRing]Event
	next uint64        // number of the next event; the first is 1
	news chan struct{} // closed when an event comes
}

// Event is a line of the stream.
type Event struct {
	facts.EventFacts
	status string // of a listing that changed
}

// Topic is the name under which the stream sends the event.
func (e *Event) Topic() string {
	switch {
	case e.Type == "reset":
		return "reset"
	case e.Job != 0 && e.Item >= 0:
		return "item"
	case e.Job != 0:
		return "job"
	case e.Host != "":
		return "host"
	}
	return "farm"
}

// New is a stream without events.
func New() *Stream {
	return &Stream{Nonce: strconv.FormatInt(time.Now().UnixNano(), 36), next: 1, news: make(chan struct{})}
}

// Put adds events and wakes up the waiting readers.
func (s *Stream) Put(events []Event) {
	if len(events) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		s.ring[s.next%streamRing] = e
		s.next++
	}
	close(s.news)
	s.news = make(chan struct{})
}

// After copies what came from place on, at most some hundred events; ok is false if the ring has gone
// past it.
func (s *Stream) After(place uint64, into []Event) (events []Event, next uint64, news <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if place+streamRing < s.next || place > s.next {
		return nil, s.next, s.news, false
	}
	for n := place; n < s.next && len(into) < cap(into); n++ {
		into = append(into, s.ring[n%streamRing])
	}
	return into, place + uint64(len(into)), s.news, true
}

// Now is the place of the next event.
func (s *Stream) Now() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next
}

// Resume finds the place of an event id, NONCE-NUMBER.
func (s *Stream) Resume(id string, now uint64) (place uint64, reset bool) {
	if id == "" {
		return now, false
	}
	nonce, number, _ := strings.Cut(id, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || nonce != s.Nonce || n >= now || n+1+streamRing < now {
		return now, true
	}
	return n + 1, false
}

// Wire is the event as api shows it; name tells an item's name from its number.
func (e *Event) Wire(name func(facts.JobID, facts.ItemNo) string) api.Event {
	out := translate.Event(e.EventFacts, func(n facts.ItemNo) string { return name(e.Job, n) })
	out.Status = e.status
	return out
}

const (
	streamRing = 8192
)
