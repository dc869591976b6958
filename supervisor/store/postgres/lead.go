package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/internal/pause"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// How a supervisor waits to lead.
const (
	leadFirst = 10 * time.Millisecond // the lock of a session that just ended comes free in a moment
	leadPoll  = 500 * time.Millisecond
	leadRetry = time.Second // after an error, such as a database that is down
	sayAgain  = time.Minute
	// Another server may have been promoted in place of the one of a leader, or of one who waits to lead.
	lookAround = 10 * time.Second
)

// Lead waits until this process leads, or ctx ends; while the database cannot be reached it keeps trying. It polls for
// the lock, because a statement that waits for it would hide a lost connection.
func (p *Store) Lead(ctx context.Context) (store.Term, error) {
	var said time.Time
	for {
		t, err := p.stand(ctx)
		if err == nil {
			return t, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("waiting to lead: %w", ctx.Err())
		}
		p.trouble.Store(&err)
		if time.Since(said) > sayAgain {
			said = time.Now()
			p.log.Warn("cannot try to lead; trying on", "error", err)
		}
		if err := pause.For(ctx, leadRetry); err != nil {
			return nil, fmt.Errorf("waiting to lead: %w", err)
		}
	}
}

// stand connects and polls until it has the lock, then begins a term.
func (p *Store) stand(ctx context.Context) (*term, error) {
	conn, err := p.connect(ctx)
	p.crowded.Store(errors.Is(err, store.ErrConnections))
	if p.crowded.Load() {
		p.pool.Reset() // closes what is idle now, and what is in use when it comes back
	}
	if err != nil {
		return nil, err
	}
	t, err := p.begin(ctx, conn)
	if err != nil {
		drop(conn)
		return nil, err
	}
	p.trouble.Store(nil)
	return t, nil
}

func (p *Store) begin(ctx context.Context, conn *pgx.Conn) (*term, error) {
	looked := time.Now()
	for wait := leadFirst; ; wait = min(2*wait, leadPoll) {
		var got bool
		if err := conn.QueryRow(ctx, sqlTryLock, int64(leaderLock)).Scan(&got); err != nil {
			return nil, fmt.Errorf("trying for the leader's lock: %w", err)
		}
		if got {
			break
		}
		p.trouble.Store(nil)
		if time.Since(looked) > lookAround {
			looked = time.Now()
			if timeline, err := timelineOf(ctx, conn); err != nil {
				return nil, err
			} else if err := p.isBest(ctx, conn, timeline); err != nil {
				return nil, err
			}
		}
		if err := pause.For(ctx, wait); err != nil {
			return nil, err
		}
	}
	t := &term{store: p, conn: conn, turn: make(chan struct{}, 1)}
	who, err := identity(ctx, conn)
	if err != nil {
		return nil, err
	}
	timeline, err := timelineOf(ctx, conn)
	if err != nil {
		return nil, err
	}
	if err := p.isBest(ctx, conn, timeline); err != nil {
		return nil, err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) (err error) {
		var note string
		if t.descent, note, err = p.descend(ctx, tx, who, timeline); err != nil {
			return err
		}
		var past []int64
		if err := tx.QueryRow(ctx, sqlRaiseEpoch, p.name, 2*(1+store.PastTerms)).Scan(&t.epoch, &t.began, &past); err != nil {
			return err
		}
		if !t.descent.PutBack {
			for pair := range slices.Chunk(past, 2) {
				t.descent.Past = append(t.descent.Past, store.PastTerm{Epoch: pair[0], Began: time.UnixMicro(pair[1])})
			}
		}
		// Without room for the event a term can still be led, for reading; the epoch's row needs no room.
		err = pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error {
			if _, err := inner.Exec(ctx, sqlTermEvent, t.epoch, p.name); err != nil || note == "" {
				return err
			}
			_, err := inner.Exec(ctx, sqlRestoreEvent, t.epoch, "restored", note)
			return err
		})
		if errors.Is(Named(err), store.ErrFull) {
			return nil
		}
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errors.New("the table supervisor has lost its row; restore it, with an epoch above every one in table event")
	}
	if err != nil {
		return nil, fmt.Errorf("raising the epoch: %w", Named(err))
	}
	return t, nil
}

// drop ends a session whose state is unknown, without waiting long for a server that may not answer.
func drop(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // the session is given up either way
}

// term is one session that holds the lock.
type term struct {
	store  *Store
	looked time.Time // at the other addresses; guarded by turn
	conn   *pgx.Conn
	epoch  int64
	began  time.Time
	turn   chan struct{} // held by the goroutine that uses the session
	over   error         // set by the first failure; guarded by turn

	descent store.Descent

	payers payers // guarded by turn
}

// Epoch is the term's number.
func (t *term) Epoch() int64 { return t.epoch }

// Began returns when the term began, by the database's clock.
func (t *term) Began() time.Time { return t.began }

// Check proves that the term is still valid, and keeps the session from timing out.
func (t *term) Check(ctx context.Context) error {
	return t.use(ctx, func(conn *pgx.Conn) error {
		if time.Since(t.looked) > lookAround {
			t.looked = time.Now()
			if err := t.store.isBest(ctx, conn, t.descent.Timeline); err != nil {
				return err
			}
		}
		tag, err := conn.Exec(ctx, sqlCheckEpoch, t.epoch)
		if err != nil {
			return fmt.Errorf("touching the epoch: %w", err)
		}
		if tag.RowsAffected() != 1 {
			return fmt.Errorf("epoch %d is no longer the supervisor's", t.epoch)
		}
		return nil
	})
}

// Close gives the lock back. A use in progress is cut off if it outlasts ctx.
func (t *term) Close(ctx context.Context) {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		_ = t.conn.PgConn().Conn().Close() // ends the session under the use that hangs
		return
	}
	defer func() { <-t.turn }()
	if t.over != nil {
		return
	}
	t.over = fmt.Errorf("%w: it was closed", store.ErrTermOver)
	// The next leader need not wait for the session's end.
	_, _ = t.conn.Exec(ctx, sqlUnlock, int64(leaderLock)) // the end of the session unlocks too
	drop(t.conn)
}

// use runs f on the session, one user at a time. Any error ends the term and the session.
func (t *term) use(ctx context.Context, f func(*pgx.Conn) error) error {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w: waiting for the session: %w", store.ErrTermOver, ctx.Err())
	}
	defer func() { <-t.turn }()
	if t.over != nil {
		return t.over
	}
	if err := f(t.conn); err != nil {
		t.store.avoid(t.conn)
		t.over = fmt.Errorf("%w: %w", store.ErrTermOver, Named(err))
		drop(t.conn)
		return t.over
	}
	return nil
}

// fail ends the term for an error that came before the session was used.
func (t *term) fail(ctx context.Context, err error) error {
	return t.use(ctx, func(*pgx.Conn) error { return err })
}

// Leader reads the row of terms.
func (p *Store) Leader(ctx context.Context) (store.Leader, error) {
	var l store.Leader
	var silent float64
	var err error
	if l.Promise, err = scanPromise(p.pool.QueryRow(ctx, sqlLeader), &l.Name, &l.Epoch, &silent); err != nil {
		return store.Leader{}, fmt.Errorf("reading who leads: %w", err)
	}
	l.Silent = time.Duration(silent * float64(time.Second))
	return l, nil
}

// Advertise sets the name in the row of terms; before the first term.
func (p *Store) Advertise(name string) { p.name = rules.Clean(name) }
