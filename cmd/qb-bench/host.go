package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"qb/api"
	"qb/worker/core"
)

// benchHost is one simulated host. Like an agent it waits for one sync at a time: a sync that is merely held is
// followed by one with a result, which is held in its turn when the response to the former has answered it. A sync that
// carries results is given up for newer ones after core.Patience. Answers are taken in rising order.
type benchHost struct {
	all    *benchHosts
	client *api.Client
	random *rand.Rand
	limits core.Limits

	sync    api.Sync                   // the last one sent
	report  core.Report                // of the instances, by all syncs
	wish    core.Wish                  // what the last answer listed
	running map[instanceRef]simulated  // the same, as it runs
	ended   map[api.AttemptID]benchEnd // results that the supervisor has not acknowledged
	freed   map[instanceRef]time.Time  // when an instance got its last result
	flight  *benchFlight               // nil: none
	earlier []*benchFlight             // given up for later ones
	answers chan benchAnswer
	waits   core.Patience
	lease   time.Duration
	next    time.Time // no sync before this, unless there is a result
	failed  bool      // the last sync was: next holds for results too
}

type instanceRef struct {
	job      int64
	instance int
}

type simulated struct {
	attempt api.AttemptID
	ends    time.Time
	wall    float64 // seconds that the host says it took: what takes no time would be charged to no one
}

// benchEnd is a result and whether a sync has carried it.
type benchEnd struct {
	instance int
	wall     float64
	sent     bool
}

// benchFlight is a sync under way.
type benchFlight struct {
	sequence uint64
	sent     time.Time
	carries  bool // results, so that it is answered at once
	follows  bool // a sync that was given up, whose response is to carry the answer
	giveUp   context.CancelFunc
}

// lostAt is when the results of a sync are sent again, as its answer may be lost. Others end with their request.
func (f *benchFlight) lostAt(h *benchHost) time.Time {
	if f.carries && f.follows {
		return f.sent.Add(h.waits.Lost(&h.limits, h.lease))
	}
	return f.sent.Add(h.limits.Hold + h.limits.Overdue)
}

// benchAnswer is what came of one; reply is nil if it failed.
type benchAnswer struct {
	to    *benchFlight
	reply *api.SyncReply
}

func newBenchHost(all *benchHosts, client *api.Client, n int) *benchHost {
	name := fmt.Sprintf("sim-%d", n)
	h := &benchHost{all: all, client: client, random: rand.New(rand.NewPCG(all.seed, uint64(n))),
		limits: core.DefaultLimits(), answers: make(chan benchAnswer),
		running: map[instanceRef]simulated{}, ended: map[api.AttemptID]benchEnd{}, freed: map[instanceRef]time.Time{}}
	h.sync = api.Sync{
		Protocol: api.Protocol,
		Host:     name, MachineID: name, BootID: "bench", StateID: name, Incarnation: fmt.Sprint(time.Now().UnixNano()),
		Slots: all.slots, Cluster: "/", Memory: api.SyncMemory{Total: 64 << 30, Available: 64 << 30},
	}
	return h
}

// play goes on until ctx ends: it wakes for an answer, an end or the moment of the next sync.
func (h *benchHost) play(ctx context.Context) {
	defer h.client.CloseIdle()
	wake := time.NewTimer(0)
	defer wake.Stop()
	for ctx.Err() == nil {
		now := time.Now()
		h.endItems(now)
		h.maybeSync(ctx, now)
		changed := h.all.changed()
		wake.Reset(time.Until(h.wake(now)))
		select {
		case answer := <-h.answers:
			h.take(answer, time.Now())
		case <-changed:
			h.redraw(time.Now())
		case <-wake.C:
		case <-ctx.Done():
		}
	}
}

// endItems makes results of the items whose time is over.
func (h *benchHost) endItems(now time.Time) {
	for ref, s := range h.running {
		if _, known := h.ended[s.attempt]; !known && !now.Before(s.ends) {
			h.ended[s.attempt] = benchEnd{instance: ref.instance, wall: s.wall}
			h.freed[ref] = now
		}
	}
}

// redraw draws the time left of all items, as the mean run time has changed: how long an item has run says nothing of
// when it ends.
func (h *benchHost) redraw(now time.Time) {
	for ref, s := range h.running {
		took := h.all.drawn(h.random)
		s.ends, s.wall = now.Add(took), took.Seconds()
		h.running[ref] = s
	}
}

// unsent says whether a result waits that no sync has carried yet.
func (h *benchHost) unsent() bool {
	for _, e := range h.ended {
		if !e.sent {
			return true
		}
	}
	return false
}

func (h *benchHost) maybeSync(ctx context.Context, now time.Time) {
	unsent := h.unsent()
	if h.flight != nil {
		newer := unsent && (!h.flight.carries || now.Sub(h.flight.sent) >= h.patience())
		if !newer && now.Before(h.flight.lostAt(h)) {
			return
		}
		h.waits.GaveUp(h.flight.carries)
		h.earlier = append(h.earlier, h.flight)
		h.flight = nil
		for len(h.earlier) >= core.OpenSyncs {
			h.earlier[0].giveUp()
			h.earlier = h.earlier[1:]
		}
	}
	if now.Before(h.next) && (!unsent || h.failed) {
		return
	}
	h.send(ctx, now)
}

func (h *benchHost) patience() time.Duration { return h.waits.Wait(&h.limits, h.lease) }

// wake is when there is something to do without an answer.
func (h *benchHost) wake(now time.Time) time.Time {
	at := now.Add(time.Minute)
	sooner := func(t time.Time) {
		if t.Before(at) {
			at = t
		}
	}
	switch {
	case h.flight == nil:
		sooner(h.next)
	case h.flight.carries && h.unsent():
		sooner(h.flight.sent.Add(h.patience()))
	default:
		sooner(h.flight.lostAt(h))
	}
	for _, s := range h.running {
		if _, known := h.ended[s.attempt]; !known {
			sooner(s.ends)
		}
	}
	return at
}

// send starts a sync that lists all there is, or what has changed.
func (h *benchHost) send(ctx context.Context, now time.Time) {
	s := &h.sync
	s.Sequence++
	s.HoldSeconds = h.limits.Hold.Seconds()
	s.Instances, s.Finished, s.Since, s.Gone = nil, nil, 0, nil // the former ones may still be being written
	for ref, sim := range h.running {
		state := "running"
		if _, over := h.ended[sim.attempt]; over {
			state = "idle"
		}
		s.Instances = append(s.Instances, api.SyncInstance{Job: ref.job, Instance: ref.instance, Attempt: sim.attempt,
			State: state})
	}
	h.report.Fill(s)
	zero := 0
	for id, e := range h.ended {
		s.Finished = append(s.Finished, api.Finished{Attempt: id, Instance: e.instance, Outcome: "exit", ExitCode: &zero,
			Wall: e.wall})
		e.sent = true
		h.ended[id] = e
	}
	within, giveUp := context.WithTimeout(ctx, h.limits.Hold+h.limits.Overdue)
	f := &benchFlight{sequence: s.Sequence, sent: now, carries: len(s.Finished) > 0,
		follows: len(h.earlier) > 0, giveUp: giveUp}
	h.flight = f
	body := *s
	go func() {
		defer giveUp()
		reply := &api.SyncReply{}
		if err := h.client.Call(within, api.SyncWorker, nil, body, reply); err != nil {
			reply = nil
		}
		select {
		case h.answers <- benchAnswer{f, reply}:
		case <-ctx.Done():
		}
	}()
}

// take makes the supervisor's list true and notes how long freed slots waited.
func (h *benchHost) take(answer benchAnswer, now time.Time) {
	last, reply := answer.to, answer.reply
	h.earlier = slices.DeleteFunc(h.earlier, func(f *benchFlight) bool { return f == last })
	switch {
	case last == h.flight:
		h.flight = nil
		if h.failed = reply == nil; h.failed {
			h.report.Forget()
			h.next = now.Add(h.limits.BackOff)
			return
		}
	case reply == nil || reply.Answer <= h.sync.Heard:
		return
	case h.flight != nil && reply.Sequence == h.flight.sequence: // it waits for its last answer now
		first := *h.flight
		last, h.flight.carries = &first, false
	}
	if reply.Since != 0 && reply.Since != h.sync.Heard || !h.wish.Fits(reply) { // the next answer is complete
		h.report.Forget()
		h.next = now.Add(h.limits.BackOff)
		return
	}
	h.report.Answered(reply.Sequence, reply.Differences)
	h.wish.Take(reply)
	h.waits.Answered(last.carries, now.Sub(last.sent), time.Duration(reply.PatienceSeconds*float64(time.Second)))
	if reply.LeaseSeconds > 0 {
		h.lease = time.Duration(reply.LeaseSeconds * float64(time.Second))
	}
	desired, listed := map[api.AttemptID]bool{}, make(map[instanceRef]simulated, len(h.wish.Instances))
	var started []instanceRef
	h.sync.Jobs = nil
	for _, d := range h.wish.Instances {
		desired[d.Attempt] = true
		ref := instanceRef{d.Attempt.Job, d.Instance}
		s, ok := h.running[ref]
		if !ok || s.attempt != d.Attempt {
			took := h.all.drawn(h.random)
			s = simulated{d.Attempt, now.Add(took), took.Seconds()}
			if h.all.mean() == 0 {
				s.wall = 1
			}
			started = append(started, ref)
		}
		listed[ref] = s
		if !slices.ContainsFunc(h.sync.Jobs, func(v api.JobVersion) bool { return v.Job == d.Attempt.Job }) {
			h.sync.Jobs = append(h.sync.Jobs, api.JobVersion{Job: d.Attempt.Job, Version: d.Version})
		}
	}
	results := len(h.ended)
	maps.DeleteFunc(h.ended, func(id api.AttemptID, _ benchEnd) bool { return !desired[id] })
	gone := len(h.running) + len(started) - len(listed)
	h.running = listed
	h.sync.Epoch = reply.Epoch
	h.sync.Heard = reply.Answer
	h.pace(last, now, len(started) > 0, len(h.ended) < results || gone > 0)
	h.all.note(h.refilled(started, now), started, now)
}

// pace decides when the next sync goes, as an agent does.
func (h *benchHost) pace(last *benchFlight, now time.Time, started, acted bool) {
	switch {
	case started:
		h.next = now.Add(h.limits.Settle)
	case acted:
		h.next = now
	case last.carries:
		h.next = now.Add(h.patience())
	default:
		h.next = last.sent.Add(h.limits.Gap)
	}
}

// refilled gives how long the slots of started items waited for them: the slot of the item's own instance, or that
// of the oldest instance which has closed.
func (h *benchHost) refilled(started []instanceRef, now time.Time) (waits []float64) {
	var elsewhere int
	for _, ref := range started {
		since, own := h.freed[ref]
		if !own {
			elsewhere++
			continue
		}
		waits = append(waits, now.Sub(since).Seconds()*1e3)
		delete(h.freed, ref)
	}
	for range elsewhere {
		var oldest instanceRef
		var since time.Time
		for ref, t := range h.freed {
			if _, runs := h.running[ref]; !runs && (since.IsZero() || t.Before(since)) {
				oldest, since = ref, t
			}
		}
		if since.IsZero() {
			break
		}
		waits = append(waits, now.Sub(since).Seconds()*1e3)
		delete(h.freed, oldest)
	}
	return waits
}
