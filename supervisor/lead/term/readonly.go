package term

import (
	"context"
	"errors"
	"fmt"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// A database whose disk is full refuses to write, yet it can be read, and its lock and its epoch still say who
// leads. The terms that follow are read-only: they keep what runs running and write nothing, until there is room.

// errRoom ends a read-only term: the next one writes again.
var errRoom = errors.New("the database has room again")

// disk is what the terms know of the database's disk.
type disk struct {
	since time.Time // when a commit found no room; zero: there is room
	room  bool      // it was seen since, so that the next term tries to write
}

func (d *disk) readOnly() bool { return !d.since.IsZero() && !d.room }

func (d *disk) text() string {
	return fmt.Sprintf(
		"the farm is read-only since %s: the disk of the database is full; free some space on it, and all goes on by itself. "+
			"What runs goes on, nothing acknowledged is lost, nothing can be changed until then",
		d.since.UTC().Format("15:04:05 UTC"))
}

// noteEnd draws from a term's end whether the next one is read-only.
func (t *Leader) noteEnd(err error) {
	switch {
	case errors.Is(err, store.ErrFull):
		if t.disk.since.IsZero() {
			t.disk.since = time.Now()
			t.announce("read-only", t.disk.text())
		}
		t.disk.room = false
	case errors.Is(err, errRoom):
		t.disk.room = true
	}
	t.Metrics.ReadOnly(t.disk.readOnly())
}

// comeBack is the first commit after a time without room: two events, so that the history tells of it.
func (t *Leader) comeBack(ctx context.Context, term store.Term, now time.Time) error {
	if t.disk.since.IsZero() || t.disk.readOnly() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, store.TrustFor)
	defer cancel()
	event := func(at time.Time, kind, cause string) facts.AddEvent {
		return facts.AddEvent{Event: facts.FarmEvent(at, kind, facts.Why{Cause: cause})}
	}
	lasted := time.Since(t.disk.since)
	back := fmt.Sprintf("the database has room again; the farm was read-only for %s", lasted.Round(time.Second))
	err := term.Commit(ctx, []facts.Write{event(now.Add(-lasted), "read-only", "the disk of the database was full"),
		event(now, "writable", back)})
	if err != nil {
		return fmt.Errorf("writing again: %w", err)
	}
	t.disk = disk{}
	t.announce("writable", back)
	return nil
}

// announce reports a change of the farm's state in the log and in the event stream.
func (t *Leader) announce(kind, cause string) {
	t.Log.Warn("the farm changed its state", "state", kind, "reason", cause)
	t.Tell(facts.FarmEvent(time.Now(), kind, facts.Why{Cause: cause}))
}

// look returns errRoom when a read-only term has done its duty. Another error of the question than a full
// disk, such as a right that the database's user lacks, says nothing: then it is tried now and then.
func (k *committer) look(ctx context.Context) error {
	if !k.full || time.Since(k.looked) < roomEvery {
		return nil
	}
	k.looked = time.Now()
	ctx, cancel := context.WithTimeout(ctx, store.ReadFor)
	defer cancel()
	err := k.room(ctx)
	if err == nil || !errors.Is(err, store.ErrFull) && time.Since(k.began) > roomAnyway {
		return errRoom
	}
	return nil
}
