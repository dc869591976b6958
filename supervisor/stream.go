package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/limits"
	"qb/supervisor/translate"
)

// stream keeps the latest events in a ring. A reader has a place in it and no queue of its own: one that
// is overtaken is sent away and told, when it comes back, to read the lists afresh.
type stream struct {
	nonce string // of this process; places of another one mean nothing here

	mu   sync.Mutex
	ring [streamRing]streamEvent
	next uint64        // number of the next event; the first is 1
	news chan struct{} // closed when an event comes
}

type streamEvent struct {
	topic  string // job, item, host or farm
	at     time.Time
	rank   int // among what happened at the same time, as in a history
	kind   string
	status string // of a listing that changed
	facts.Why
	job  facts.JobID
	item facts.ItemNo // -1 if none
	inst int          // -1 if none
	host facts.HostID
}

func newStream() *stream {
	return &stream{nonce: strconv.FormatInt(time.Now().UnixNano(), 36), next: 1, news: make(chan struct{})}
}

func (s *stream) put(events []streamEvent) {
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

// after copies what came from place on, at most some hundred events; ok is false if the ring has gone
// past it.
func (s *stream) after(place uint64, into []streamEvent) (events []streamEvent, next uint64, news <-chan struct{}, ok bool) {
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

// now is the place of the next event.
func (s *stream) now() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next
}

type eventsIn struct {
	LastEventID string `header:"Last-Event-ID" maxLength:"64" doc:"Go on after this event; if it is no longer kept, an event reset comes first and the lists must be read afresh."`
	Job         int64  `query:"job" minimum:"0" doc:"Only events of this job; 0: all."`
}

// events streams what changes, as server-sent events named job, item and host.
func (s *server) events(ctx context.Context, in *eventsIn) (answer, error) {
	leave, err := s.enter(ctx, s.streams, s.live.now.Load().TokenStreams, "supervisor_token_streams")
	if err != nil {
		return nil, err
	}
	place, reset := s.stream.resume(in.LastEventID, s.stream.now())
	return func(w http.ResponseWriter, r *http.Request) {
		defer leave()
		h := w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no")
		w.WriteHeader(http.StatusOK)
		s.tell(w, r, place, reset, facts.JobID(in.Job))
	}, nil
}

// enter takes a place among the streams of a kind for the caller.
func (s *server) enter(ctx context.Context, p *limits.Places, most int, key string) (leave func(), err error) {
	who := principalOf(ctx)
	return p.Enter(who.User, who.Credential(), who.SeesAll(), most, key)
}

// resume finds the place of an event id, NONCE-NUMBER.
func (s *stream) resume(id string, now uint64) (place uint64, reset bool) {
	if id == "" {
		return now, false
	}
	nonce, number, _ := strings.Cut(id, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || nonce != s.nonce || n >= now || n+1+streamRing < now {
		return now, true
	}
	return n + 1, false
}

func (s *server) tell(w http.ResponseWriter, r *http.Request, place uint64, reset bool, job facts.JobID) {
	control := http.NewResponseController(w)
	send := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a socket always can
		_, err := io.WriteString(w, text)
		return err == nil && control.Flush() == nil
	}
	hello := ": qb events\n\n"
	if reset {
		hello = s.encode([]streamEvent{{topic: "reset", at: s.now(), kind: "reset", Why: facts.Why{Cause: "events were missed: read the lists again"}, item: -1, inst: -1}}, place-1, 0)
	}
	if !send(hello) {
		return
	}
	buf := make([]streamEvent, 0, 256)
	heartbeat := time.NewTicker(streamHeartbeat)
	defer heartbeat.Stop()
	holds := s.gate.watch(r.Context())
	for holds() {
		events, next, news, ok := s.stream.after(place, buf[:0])
		if !ok {
			return
		}
		if text := s.encode(events, place, job); text != "" && !send(text) {
			return
		}
		if place = next; len(events) > 0 {
			continue
		}
		select {
		case <-news:
		case <-heartbeat.C:
			if !holds() || !send(": still here\n\n") {
				return
			}
		case <-r.Context().Done():
			return
		case <-s.stopping:
			return
		}
	}
}

// encode leaves out other jobs' events. Names of items are looked up here, by the reader, not by the loop.
func (s *server) encode(events []streamEvent, place uint64, job facts.JobID) string {
	var text strings.Builder
	for n, e := range events {
		if job != 0 && e.job != job {
			continue
		}
		data, err := json.Marshal(e.wire(s.itemName))
		if err != nil {
			continue // strings and times always encode
		}
		fmt.Fprintf(&text, "event: %s\nid: %s-%d\ndata: %s\n\n", e.topic, s.stream.nonce, place+uint64(n), data)
	}
	return text.String()
}

func (e streamEvent) wire(name func(facts.JobID, facts.ItemNo) string) api.Event {
	out := api.Event{At: e.at.UTC(), Type: e.kind, Status: e.status, Cause: e.Cause, Code: string(e.Reason), Params: translate.Params(e.Params)}
	if e.job != 0 {
		id := int64(e.job)
		out.Job = &id
		if e.item >= 0 {
			item := name(e.job, e.item)
			out.Item = &item
		}
		if e.inst >= 0 {
			name := translate.InstanceName(e.job, e.inst)
			out.Instance = &name
		}
	}
	if e.host != "" {
		host := string(e.host)
		out.Host = &host
	}
	return out
}
