package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"qb/api"
	"qb/supervisor/eventstream"
	"qb/supervisor/facts"
	"qb/supervisor/farm"
	"qb/supervisor/problem"
	"qb/supervisor/store"
	"qb/supervisor/termwatch"
	"qb/supervisor/translate"
)

// A database whose disk is full refuses to write, yet it can be read, and its lock and its epoch still say who
// leads. The terms that follow stand: they keep what runs running and write nothing, until there is room.

// errRoom ends a standing term: the next one writes again.
var errRoom = errors.New("the database has room again")

// disk is what the terms know of the database's disk.
type disk struct {
	since time.Time // when a commit found no room; zero: there is room
	room  bool      // it was seen since, so that the next term tries to write
}

func (d *disk) standing() bool { return !d.since.IsZero() && !d.room }

func (d *disk) text() string {
	return fmt.Sprintf("read-only since %s: the disk of the database is full; free some space on it, and all goes on by itself. "+
		"What runs goes on, nothing acknowledged is lost, nothing can be changed until then", d.since.UTC().Format("15:04:05 UTC"))
}

// noteEnd draws from a term's end whether the next one stands.
func (t *terms) noteEnd(err error) {
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
	t.metrics.ReadOnly(t.disk.standing())
}

// comeBack is the first commit after a time without room: two events, so that the history tells of it.
func (t *terms) comeBack(ctx context.Context, term store.Term, now time.Time) error {
	if t.disk.since.IsZero() || t.disk.standing() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, store.TrustFor)
	defer cancel()
	event := func(at time.Time, kind, cause string) facts.AddEvent {
		return facts.AddEvent{Event: facts.EventFacts{At: at, Type: kind, Item: -1, Instance: -1, Why: facts.Why{Cause: cause}}}
	}
	lasted := time.Since(t.disk.since)
	back := fmt.Sprintf("the database has room again; the farm was read-only for %s", lasted.Round(time.Second))
	err := term.Commit(ctx, []facts.Write{event(now.Add(-lasted), "read-only", "the disk of the database was full"), event(now, "writable", back)})
	if err != nil {
		return fmt.Errorf("writing again: %w", err)
	}
	t.disk = disk{}
	t.announce("writable", back)
	return nil
}

// announce tells those who watch the farm.
func (t *terms) announce(kind, cause string) {
	t.log.Warn("the farm changed its state", "state", kind, "reason", cause)
	t.tell(eventstream.Event{Topic: "farm", At: time.Now(), Kind: kind, Why: facts.Why{Cause: cause}, Item: -1, Inst: -1})
}

// look says with errRoom that a standing term has done its duty. Another error of the question than a full
// disk, such as a right that the database's user lacks, says nothing: then it is tried now and then.
func (k *keeper) look(ctx context.Context) error {
	if !k.full || time.Since(k.looked) < roomEvery {
		return nil
	}
	k.looked = time.Now()
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	err := k.room(ctx)
	if err == nil || !errors.Is(err, store.ErrFull) && time.Since(k.began) > roomAnyway {
		return errRoom
	}
	return nil
}

// stand answers a worker's sync in a standing term: all that the rows know to run goes on with a full lease.
// Of the ends that it tells nothing is taken in; they stay listed, so that the worker keeps their records
// and tells them again. The first answer of the term comes at once: a worker that waits for it asks less often after each
// failure.
func (s *server) stand(ctx context.Context, l *loop, e farm.WorkerSynced, in *api.Sync) (*api.SyncReply, error) {
	hold := min(e.Hold, standingPace)
	if e.Greeting {
		hold = 0
	}
	pace := time.NewTimer(hold)
	defer pace.Stop()
	select {
	case <-pace.C:
	case <-l.over:
		return nil, termwatch.ErrTermEnds
	case <-ctx.Done():
		return nil, problem.ErrNoAnswer
	}
	reply, err := s.askSync(ctx, l, translate.ReadOnlySync(e))
	if err != nil {
		return nil, err
	}
	translate.KeepRecords(reply, in.Finished)
	l.watch.Trim(reply, in)
	return reply, nil
}

// trouble is why nothing can be changed now, as far as it lies with the database; "": it does not.
func (s *server) trouble() string {
	if l := s.loop.Load(); l != nil {
		if why := l.watch.Why(sinceBoot()); why != "" {
			return why
		}
		return l.standing
	}
	if s.databaseSays != nil {
		if text := s.databaseSays(); text != "" {
			return text
		}
	}
	err := s.reader.Trouble()
	switch {
	case err == nil:
		return ""
	case errors.Is(err, store.ErrFull):
		return "the disk of the database is full; free some space on it, and all goes on by itself"
	}
	return problem.DatabaseTrouble(err) + "; the supervisor's log says more, and it goes on by itself when that is mended"
}
