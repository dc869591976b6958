package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/page/eventstream"
)

type eventsIn struct {
	LastEventID string `header:"Last-Event-ID" maxLength:"64" doc:"Go on after this event; if it is no longer kept, an event reset comes first and the lists must be read afresh."`
	Job         int64  `query:"job" minimum:"0" doc:"Only events of this job; 0: all."`
}

// events streams what changes, as server-sent events named job, item and host.
func (s *pageService) events(ctx context.Context, in *eventsIn) (answer, error) {
	leave, err := s.enter(ctx, s.streams, s.live.now.Load().TokenStreams, "supervisor_token_streams")
	if err != nil {
		return nil, err
	}
	place, reset := s.stream.Resume(in.LastEventID, s.stream.Now())
	return func(w http.ResponseWriter, r *http.Request) {
		defer leave()
		h := w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no")
		w.WriteHeader(http.StatusOK)
		s.tell(w, r, place, reset, facts.JobID(in.Job))
	}, nil
}

func (s *pageService) tell(w http.ResponseWriter, r *http.Request, place uint64, reset bool, job facts.JobID) {
	send := sender(w)
	hello := ": qb events\n\n"
	if reset {
		hello = s.encode([]eventstream.Event{{EventFacts: facts.FarmEvent(s.now(), "reset",
			facts.Why{Cause: "events were missed: read the lists again"})}}, place-1, 0)
	}
	if !send(hello) {
		return
	}
	buf := make([]eventstream.Event, 0, 256)
	heartbeat := time.NewTicker(streamHeartbeat)
	defer heartbeat.Stop()
	holds := s.gate.Watch(r.Context(), streamHeartbeat, nil)
	for holds() {
		events, next, news, ok := s.stream.After(place, buf[:0])
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
		}
	}
}

// sender writes pieces of an answer that goes on; false: the reader has not taken one in time, or is gone.
func sender(w http.ResponseWriter) func(string) bool {
	control := http.NewResponseController(w)
	return func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a socket always can
		_, err := io.WriteString(w, text)
		return err == nil && control.Flush() == nil
	}
}

// encode leaves out other jobs' events. Names of items are looked up here, by the reader, not by the loop.
func (s *pageService) encode(events []eventstream.Event, place uint64, job facts.JobID) string {
	var text strings.Builder
	for n := range events {
		e := &events[n]
		if job != 0 && e.Job != job {
			continue
		}
		data, err := json.Marshal(e.Wire(s.itemName))
		if err != nil {
			continue // strings and times always encode
		}
		fmt.Fprintf(&text, "event: %s\nid: %s-%d\ndata: %s\n\n", e.Topic(), s.stream.Nonce, place+uint64(n), data)
	}
	return text.String()
}
