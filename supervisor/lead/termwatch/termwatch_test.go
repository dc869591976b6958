package termwatch

import (
	"errors"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/farmkey"
	"qb/supervisor/store"
)

// ownKey is the key of the farm whose term is watched.
var ownKey = farmkey.New()

const grace = 2 * time.Second

func held(key farmkey.Key, lineage string, epoch int64, silent time.Duration, superseded ...string) *api.AcceptedTerm {
	return heldSince(key, lineage, epoch, epoch, silent, superseded...)
}

func heldSince(key farmkey.Key, lineage string, epoch, began int64, silent time.Duration,
	superseded ...string) *api.AcceptedTerm {
	term := api.Term{Lineage: lineage, Epoch: epoch, Began: began,
		Signature: key.Sign(api.TermMessage(lineage, epoch, began))}
	return &api.AcceptedTerm{Lineage: lineage, Epoch: epoch, Began: began, Proof: term.Proof(),
		SilentSeconds: silent.Seconds(), Superseded: superseded}
}

// heldOn is a term of a server on that timeline.
func heldOn(timeline, epoch int64) *api.AcceptedTerm {
	term := api.Term{Lineage: "here", Epoch: epoch, Began: epoch,
		Signature: ownKey.Sign(api.TermMessage("here", epoch, epoch)), Timeline: timeline}
	term.TimelineSignature = ownKey.Sign(api.TimelineMessage(timeline, term.Signature))
	return &api.AcceptedTerm{Lineage: "here", Epoch: epoch, Began: epoch, Proof: term.Proof(), Timeline: timeline,
		TimelineProof: term.TimelineProof()}
}

// A server from which the farm has moved on to a promoted replica never leads, whatever the numbers of the terms; rows
// that were put back on one timeline are healed; what is not known of timelines decides nothing.
func TestTermWatchComparesTimelines(t *testing.T) {
	heard := func(timeline, epoch int64) store.HigherTerm {
		return store.HigherTerm{Lineage: "here", Epoch: epoch, Host: "a", Timeline: timeline}
	}
	unproven := heldOn(3, 9)
	unproven.TimelineProof = nil
	for name, c := range map[string]struct {
		own        int64
		held       *api.AcceptedTerm
		err        error
		end        *End
		unverified bool
	}{
		"a higher timeline, higher term": {2, heldOn(3, 9), ErrOtherDatabase, &End{heard(3, 9), true}, false},
		"a higher timeline, equal term":  {2, heldOn(3, 5), ErrOtherDatabase, &End{heard(3, 5), true}, false},
		"a higher timeline, lower term":  {2, heldOn(3, 4), ErrOtherDatabase, &End{heard(3, 4), true}, false},
		"the same timeline, put back":    {2, heldOn(2, 9), ErrTermEnds, &End{heard(2, 9), false}, false},
		"the same timeline, lower term":  {2, heldOn(2, 4), nil, nil, false},
		"a lower timeline, higher term":  {2, heldOn(1, 9), ErrTermEnds, &End{heard(1, 9), false}, false},
		"a lower timeline, lower term":   {2, heldOn(1, 4), nil, nil, false},
		"own timeline not known":         {0, heldOn(3, 9), ErrTermEnds, &End{heard(3, 9), false}, false},
		"held timeline not known":        {2, held(ownKey, "here", 9, 0), ErrTermEnds, &End{heard(0, 9), false}, false},
		"a timeline without proof":       {2, unproven, nil, nil, true},
	} {
		w := watchOf(store.Descent{Lineage: "here", Timeline: c.own,
			Past: []store.PastTerm{{Epoch: 4, Began: time.UnixMicro(4)}}}, 0)
		err := w.Hear(0, &api.Sync{Host: "a", Held: c.held})
		if !errors.Is(err, c.err) || (w.Unverified() != "") != c.unverified {
			t.Errorf("%s: %v, unverified %q", name, err, w.Unverified())
		}
		if end := w.End(); (end == nil) != (c.end == nil) || end != nil && *end != *c.end {
			t.Errorf("%s: the term ends for %+v, want %+v", name, end, c.end)
		}
	}
}

func watchOf(d store.Descent, now time.Duration) *Watch {
	rows := facts.Facts{
		NextJob: 8, LastAttempt: 3, Hosts: []facts.HostFacts{{ID: "a"}, {ID: "b"}},
		Jobs: []facts.JobRecord{{Attempts: []facts.AttemptFacts{{RunFacts: facts.RunFacts{AttemptID: facts.AttemptID{Job: 1, Item: 0, Number: 1},
			Host: "a", State: facts.Running}}}}},
	}
	return New(ownKey, 5, time.UnixMicro(5), d, rows, grace, now)
}

// What a worker proves of terms decides; what it only claims is logged.
func TestTermWatchCompares(t *testing.T) {
	for name, c := range map[string]struct {
		held       *api.AcceptedTerm
		err        error
		end        *End
		unverified bool
	}{
		"nothing":       {nil, nil, nil, false},
		"this term":     {held(ownKey, "here", 5, 0), nil, nil, false},
		"a former term": {held(ownKey, "here", 3, 0), nil, nil, false},
		"a higher term": {held(ownKey, "here", 9, 0), ErrTermEnds,
			&End{store.HigherTerm{Lineage: "here", Epoch: 9, Host: "a"}, false}, false},
		"this number, given before": {heldSince(ownKey, "here", 5, 4, 0), ErrTermEnds,
			&End{store.HigherTerm{Lineage: "here", Epoch: 5, Host: "a"}, false}, false},
		"a number given again": {heldSince(ownKey, "here", 4, 3, 0), ErrTermEnds,
			&End{store.HigherTerm{Lineage: "here", Epoch: 5, Host: "a"}, false}, false},
		"a number of another's": {heldSince(ownKey, "there", 4, 3, 11*time.Second), nil, nil, false},
		"another farm's":        {held(farmkey.New(), "here", 9, 0), nil, nil, true},
		"no proof":              {&api.AcceptedTerm{Lineage: "here", Epoch: 9}, nil, nil, true},
		"beyond all bounds":     {held(ownKey, "here", 1<<61, 0), nil, nil, true},
		"a living database":     {held(ownKey, "there", 9, 9*time.Second), ErrOtherDatabase, nil, false},
		"a dead one": {held(ownKey, "there", 9, 11*time.Second), ErrTermEnds,
			&End{store.HigherTerm{Lineage: "there", Epoch: 9, Host: "a"}, false}, false},
		"a dead one, lower": {held(ownKey, "there", 4, 11*time.Second), nil, nil, false},
		"one in place of own": {held(ownKey, "there", 4, 0, "before", "here"), ErrOtherDatabase,
			&End{store.HigherTerm{Lineage: "there", Epoch: 4, Host: "a"}, true}, false},
	} {
		w := watchOf(store.Descent{Lineage: "here",
			Past: []store.PastTerm{{Epoch: 4, Began: time.UnixMicro(4)}, {Epoch: 3, Began: time.UnixMicro(3)}}}, 0)
		err := w.Hear(0, &api.Sync{Host: "a", Held: c.held})
		if !errors.Is(err, c.err) || (w.Unverified() != "") != c.unverified {
			t.Errorf("%s: %v, unverified %q", name, err, w.Unverified())
		}
		if end := w.End(); (end == nil) != (c.end == nil) || end != nil && *end != *c.end {
			t.Errorf("%s: the term ends for %+v, want %+v", name, end, c.end)
		}
		if why := w.Why(0); why != "" {
			t.Errorf("%s: it gives nothing out: %s", name, why)
		}
	}
}

// After rows were put back, all hosts are listened to, and what the rows do not know is waited for; for both
// there are limits.
func TestTermWatchSettles(t *testing.T) {
	here := held(ownKey, "here", 5, 0)
	w := watchOf(store.Descent{Lineage: "here", PutBack: true}, time.Minute)
	settled := func(at time.Duration) bool { _, _, ok := w.Settled(at); return ok }
	hear := func(at time.Duration, s api.Sync) {
		if err := w.Hear(at, &s); err != nil {
			t.Errorf("at %s %s hears: %v", at, s.Host, err)
		}
	}
	if w.Why(time.Minute) == "" || settled(time.Minute) {
		t.Error("settled before anybody was heard")
	}
	running := []api.SyncInstance{{Job: 1, Attempt: api.AttemptID{Job: 1, Item: 0, Number: 1}, State: "running"}}
	hear(61*time.Second, api.Sync{Host: "a", Held: here, Instances: running})
	if settled(62 * time.Second) {
		t.Error("settled without host b")
	}
	unknown := []api.SyncInstance{{Job: 70, Attempt: api.AttemptID{Job: 70, Item: 0, Number: 9}, State: "running"}}
	hear(63*time.Second, api.Sync{Host: "b", Held: here, Instances: unknown})
	if settled(64 * time.Second) {
		t.Error("settled while b runs what the rows do not know")
	}
	if wait := listenFor + grace + clearFor; settled(63*time.Second+wait-1) || !settled(63*time.Second+wait) {
		t.Error("what cannot end is not waited for as long as it should")
	}
	hear(66*time.Second, api.Sync{Host: "b", Held: here,
		Finished: []api.Finished{{Attempt: api.AttemptID{Job: 70, Item: 0, Number: 12}}}})
	w.Await()
	if settled(67 * time.Second) {
		t.Error("settled before the log folder was read")
	}
	w.Numbers(20, 15)
	if job, attempt, ok := w.Settled(67 * time.Second); !ok || job != 70 || attempt != 15 {
		t.Errorf("settled %v, above job %d and attempt %d", ok, job, attempt)
	}
	hear(61*time.Second+clearAll-time.Millisecond, api.Sync{Host: "b", Held: here, Instances: unknown})
	if settled(59*time.Second+clearAll) || !settled(60*time.Second+clearAll) {
		t.Error("hosts that come one after another are waited for longer or shorter than they should")
	}
	w = watchOf(store.Descent{Lineage: "here", PutBack: true}, 0)
	if settled(listenFor-1) || !settled(listenFor) {
		t.Error("silent hosts are not waited for as long as they should")
	}
}

// TestTermWatchOfACopy: a copy answers no host before all hosts were listened to and none obeys the other database.
func TestTermWatchOfACopy(t *testing.T) {
	w := watchOf(store.Descent{Lineage: "here", PutBack: true, Moved: true}, 0)
	hear := func(at time.Duration, host string, silent time.Duration) error {
		return w.Hear(at, &api.Sync{Host: host, Held: held(ownKey, "there", 4, silent)})
	}
	if err := hear(time.Second, "a", 11*time.Second); !errors.Is(err, errListening) {
		t.Errorf("before b was heard: %v", err)
	}
	if err := hear(2*time.Second, "b", 4*time.Second); !errors.Is(err, ErrOtherDatabase) || w.Listens(2*time.Second) {
		t.Errorf("b obeys the other: %v", err)
	}
	if w.Remark("b") == "" || w.Remark("a") != "" || !strings.Contains(w.Why(2*time.Second), "there") {
		t.Errorf("remarks %q, %q, reason %q", w.Remark("a"), w.Remark("b"), w.Why(2*time.Second))
	}
	if err := hear(3*time.Second, "a", 13*time.Second); !errors.Is(err, ErrOtherDatabase) {
		t.Errorf("a, while b obeys the other: %v", err)
	}
	if err := hear(9*time.Second, "a", 19*time.Second); err != nil {
		t.Errorf("a, when the other has been silent: %v", err)
	}
	if _, _, ok := w.Settled(9 * time.Second); ok {
		t.Error("settled before the hosts came over")
	}
	for _, host := range []string{"a", "b"} {
		if err := w.Hear(10*time.Second, &api.Sync{Host: host, Held: held(ownKey, "here", 5, 0, "there")}); err != nil {
			t.Error(err)
		}
	}
	if _, _, ok := w.Settled(10 * time.Second); !ok {
		t.Error("not settled when all came over")
	}
}

// TestTermWatchOfALateHost: a host that comes over late is waited for from then on, although it was heard long before,
// because its items are ended only from then on.
func TestTermWatchOfALateHost(t *testing.T) {
	w := watchOf(store.Descent{Lineage: "here", PutBack: true, Moved: true}, 0)
	hear := func(at time.Duration, host string, term *api.AcceptedTerm, runs ...api.SyncInstance) error {
		return w.Hear(at, &api.Sync{Host: host, Held: term, Instances: runs})
	}
	unknown := api.SyncInstance{Job: 70, Attempt: api.AttemptID{Job: 70, Item: 0, Number: 1}, State: "running"}
	if err := hear(time.Second, "a", held(ownKey, "there", 4, 11*time.Second), unknown); !errors.Is(err, errListening) {
		t.Errorf("before b was heard: %v", err)
	}
	if err := hear(2*time.Second, "b", held(ownKey, "there", 4, 12*time.Second), unknown); err != nil {
		t.Errorf("b, when the other has been silent: %v", err)
	}
	for at := 3 * time.Second; at < 40*time.Second; at += time.Second { // but it is not
		if err := hear(at, "b", held(ownKey, "there", 4, 0), unknown); err == nil {
			t.Fatalf("b, which obeys the other, is answered at %s", at)
		}
	}
	for _, host := range []string{"a", "b"} {
		if err := hear(60*time.Second, host, held(ownKey, "here", 5, 0, "there"), unknown); err != nil {
			t.Fatal(err)
		}
	}
	if err := hear(61*time.Second, "a", held(ownKey, "here", 5, 0, "there")); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := w.Settled(62 * time.Second); ok {
		t.Error("settled while b ends what it was just told to end")
	}
	if err := hear(63*time.Second, "b", held(ownKey, "here", 5, 0, "there")); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := w.Settled(63 * time.Second); !ok {
		t.Error("not settled when all has ended")
	}
}
