package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"qb/api"
	"qb/supervisor/agendas"
	"qb/supervisor/audit"
	"qb/supervisor/central"
	"qb/supervisor/endsaudit"
	"qb/supervisor/eventstream"
	"qb/supervisor/facts"
	"qb/supervisor/gate"
	"qb/supervisor/history"
	"qb/supervisor/lastchange"
	"qb/supervisor/limits"
	"qb/supervisor/live"
	"qb/supervisor/logstore"
	"qb/supervisor/mail"
	"qb/supervisor/message"
	"qb/supervisor/metrics"
	"qb/supervisor/osusers"
	"qb/supervisor/problem"
	"qb/supervisor/readcache"
	"qb/supervisor/reads"
	"qb/supervisor/selfaudit"
	"qb/supervisor/settings"
	"qb/supervisor/sso"
	"qb/supervisor/store"
	"qb/supervisor/term"
	"qb/supervisor/timeline"
	"qb/supervisor/whatif"
)

// server answers the endpoints. Changes go through the loop of the current term; reads come from the rows
// and the view.
type server struct {
	cfg     settings.Config
	reader  store.Reader
	log     *slog.Logger
	version string
	name    string // host name of this process

	loop         atomic.Pointer[term.Loop]    // nil between terms
	view         atomic.Pointer[term.Picture] // of this term; nil between terms
	ager         atomic.Pointer[history.Ager] // likewise; nil too while nothing can be written
	stopping     context.Context              // ends when the process does, and streams with it
	stopStreams  context.CancelFunc
	leader       leaderWatch
	live         liveConfig
	workers      central.Workers
	fingerprint  func() string // of the farm's CA, for tokens; "" if they need none
	databaseSays func() string // what is wrong with the database, by him who runs it; may be nil

	// records keeps an order on a job that is no longer in memory, which reads its rows, apart from the ager, which
	// takes them away: an order that acted on rows that are gone would end the term.
	records sync.RWMutex
	turns   turns

	unverified, otherDatabases, outdated rate.Sometimes // warned of

	gate      *gate.Gate
	trials    *whatif.Trials
	sso       *sso.Provider
	reads     *reads.Outage
	agendas   *agendas.Cache
	users     osusers.Users
	logs      *logstore.Store
	stream    *eventstream.Stream
	board     *live.Board
	itemReads *readcache.Cache // of all items of a job
	pageHash  string           // of the files of the page
	pageLost  string           // why no session of the page can be begun; "": one can
	timeline  *timeline.Timeline
	ends      endsaudit.Audit
	auditor   *selfaudit.Auditor // of what the workers recorded
	terms     atomic.Pointer[term.Leader]
	mail      *mail.Sender
	metrics   *metrics.Metrics

	audit              *audit.Writer
	requests           atomic.Uint64 // counted for their ids
	limits             *limits.Users
	streams, followers *limits.Places
	pace               *limits.Pace // of workers
}

func newServer(cfg settings.Config, r store.Reader, log *slog.Logger, version string) (*server, error) {
	failing := reads.NewOutage(log, "reading from the database")
	shared := newTurns()
	r = reads.Reader{Reader: r, Outage: failing, Turn: shared.readInTurn}
	logs, err := logstore.Open(cfg.LogFolder())
	if err != nil {
		return nil, err
	}
	name, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("asking for the host's name: %w", err)
	}
	s := &server{
		unverified: rate.Sometimes{Interval: time.Minute}, otherDatabases: rate.Sometimes{Interval: time.Minute}, outdated: rate.Sometimes{Interval: time.Minute},
		cfg: cfg, reader: r, log: log, version: version, name: name,
		logs: logs, stream: eventstream.New(), reads: failing, turns: shared, itemReads: readcache.New(), agendas: agendas.New(inTurn(shared.agendas)), trials: whatif.NewTrials(inTurn(shared.trials)), timeline: timeline.New(),
	}
	s.stopping, s.stopStreams = context.WithCancel(context.Background())
	s.live.now.Store(&cfg)
	s.metrics = metrics.New(metrics.Sources{View: s.lastView, Totals: s.totals, Owners: s.owners, Trouble: s.trouble, Limits: limits.Names})
	s.board = live.New(s.lastView, s.totals)
	unwritten := reads.NewOutage(log, "writing the audit trail")
	s.audit = audit.New(r, func(err error) { unwritten.Note("refusals and reads", err) })
	s.limits, s.pace = limits.NewUsers(s.live.now.Load, r), limits.NewPace()
	s.streams, s.followers = limits.NewPlaces(limits.Streams, streamReaders, streamsReserved), limits.NewPlaces(limits.Followed, logFollowers, logsReserved)
	s.sso = sso.New(s.live.now.Load, log)
	router, err := newRouter(s)
	if err != nil {
		return nil, err
	}
	s.gate = gate.New(s.stopping, r, s.live.now.Load, log, failing, s.refused, router)
	return s, nil
}

// leading is the loop that takes changes now.
func (s *server) leading() (*term.Loop, error) {
	if l := s.loop.Load(); l != nil {
		return l, nil
	}
	return nil, s.standingBy()
}

// look asks the live farm, which only a leader has.
func look[T any](ctx context.Context, s *server, ask func(m term.Machine, now time.Time) T) (none T, err error) {
	l, err := s.leading()
	if err != nil {
		return none, err
	}
	leave, err := inTurn(s.turns.looks)(ctx)
	if err != nil {
		return none, err
	}
	defer leave()
	var answer T // not read unless the farm has answered
	if err := l.Look(ctx, func(m term.Machine, now time.Time) { answer = ask(m, now) }); err != nil {
		return none, err
	}
	return answer, nil
}

func (s *server) begin(l *term.Loop) {
	s.loop.Store(l)
	if !l.ReadOnly() { // such a term promises no more than the rows know, whatever was read meanwhile
		s.live.catchUp(l.Tell)
	}
}

// now is the time of the term, if this supervisor leads.
func (s *server) now() time.Time {
	if l := s.loop.Load(); l != nil {
		return l.Now()
	}
	return time.Now()
}

func (s *server) end() {
	s.loop.Store(nil)
	s.view.Store(nil)
	s.itemReads.Clear()
}

// show publishes what a commit has made durable: what is shown with it, and events.
func (s *server) show(out term.Display, writes []facts.Write) {
	events := eventstream.OfWrites(writes)
	if out.View != nil {
		events = append(events, eventstream.OfViews(s.lastView(), out.View)...)
		s.view.Store(term.NewPicture(out.View))
	} else if p := s.view.Load(); p != nil {
		p.Enter(out.Part)
	}
	s.stream.Put(events)
	s.board.Note(writes)
	for _, w := range writes {
		if job := lastchange.JobOf(w); job != 0 {
			s.itemReads.Note(job)
		}
	}
	s.timeline.Note(writes)
}

// picture is what listings show now; an empty one where there is no view.
func (s *server) picture() *term.Picture {
	if p := s.view.Load(); p != nil {
		return p
	}
	return term.NewPicture(&message.View{})
}

// lastView is the last view of the whole farm, nil if there is none yet in this term.
func (s *server) lastView() *message.View {
	if p := s.view.Load(); p != nil {
		return p.View
	}
	return nil
}

// ServeHTTP counts answers and keeps a handler's panic from the connection.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	seen := &gate.Seen{ResponseWriter: w}
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler || r.Context().Err() != nil {
				panic(http.ErrAbortHandler) // who asked is gone
			}
			s.log.Error("a handler panicked", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			if seen.Status == 0 {
				problem.Write(seen, problem.Of(term.ErrPanic))
			}
		}
		if r.Context().Err() != nil {
			seen.Status = statusGone
		}
		s.metrics.Answered(seen.Endpoint, seen.Status)
	}()
	id := s.stream.Nonce + "-" + strconv.FormatUint(s.requests.Add(1), 36)
	w.Header().Set("Request-Id", id)
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, requestFacts{id, originOf(r), *r.URL}))
	gate.LimitBodyTime(w, r, bodyTimeout)
	s.gate.ServeHTTP(seen, r)
}

// statusGone stands in the metrics for requests whose sender did not wait for the answer, such as a worker
// that has news while its sync is held.
const statusGone = 499

// health says whether jobs can run: a term is led, its first view is out, and the database answered lately.
func (s *server) health(context.Context, *nothing) (answer, error) {
	l := s.loop.Load()
	if l == nil || s.view.Load() == nil || s.trouble() != "" {
		return nil, s.listening(l)
	}
	if l.ProofAge() > problem.StalledAfter {
		return nil, problem.ErrUnproven
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n")) // the reader may be gone
	}, nil
}

// problemFor logs what a client must not see.
func (s *server) problemFor(ctx context.Context, e api.Endpoint, err error) *problem.Problem {
	p := problem.Of(err)
	s.refused(ctx, e, p)
	switch {
	case p.Status == http.StatusInternalServerError:
		s.log.Error("request failed", "endpoint", e.ID, "error", err)
	case errors.Is(err, problem.ErrDatabase):
		s.reads.Note(e.ID, err)
	}
	return p
}
