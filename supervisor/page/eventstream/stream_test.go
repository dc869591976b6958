package eventstream

import (
	"strings"
	"testing"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// TestSlowReader: an overtaken reader gets an answer that says so, and the ring never grows.
func TestSlowReader(t *testing.T) {
	s := New()
	place := s.Now()
	if place != 1 {
		t.Fatal(place)
	}
	s.Put(make([]Event, 10))
	got, next, _, ok := s.After(place, make([]Event, 0, 4))
	if len(got) != 4 || next != 5 || !ok {
		t.Errorf("%d events, next %d, %v", len(got), next, ok)
	}
	s.Put(make([]Event, streamRing))
	if _, _, _, ok := s.After(next, make([]Event, 0, 4)); ok {
		t.Error("an overtaken reader was not told")
	}
	if place, reset := s.Resume(s.Nonce+"-5", s.next); !reset || place != s.next {
		t.Errorf("resuming far behind: place %d, reset %v", place, reset)
	}
}

func TestNewsOfViews(t *testing.T) {
	before := &message.View{Jobs: []*facts.JobView{{JobFacts: facts.JobFacts{ID: 1, Version: 1}, Status: "pending"},
		{JobFacts: facts.JobFacts{ID: 2, Version: 1}, Status: "running"}},
		Hosts: []*message.HostView{{HostFacts: facts.HostFacts{ID: "h"}, State: "up"}}}
	after := &message.View{Jobs: []*facts.JobView{{JobFacts: facts.JobFacts{ID: 1, Version: 2}, Status: "pending"},
		{JobFacts: facts.JobFacts{ID: 2, Version: 2}, Status: "complete"},
		{JobFacts: facts.JobFacts{ID: 3}, Status: "pending"}},
		Hosts: []*message.HostView{{HostFacts: facts.HostFacts{ID: "h"}, State: "lost"}}}
	var got []string
	for _, e := range OfViews(before, after) {
		got = append(got, e.Topic()+" "+e.Type)
	}
	if want := "job job-changed, job job-changed, host host-changed"; strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if len(OfViews(after, after)) != 0 || len(OfViews(nil, after)) != 0 {
		t.Error("no change is news")
	}
}
