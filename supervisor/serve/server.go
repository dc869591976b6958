package serve

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"

	"qb/supervisor/access/gate"
	"qb/supervisor/access/limits"
	"qb/supervisor/access/reads"
	"qb/supervisor/access/sso"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/metrics"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/page"
	"qb/supervisor/page/eventstream"
	"qb/supervisor/page/live"
	"qb/supervisor/page/whatif"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
)

// server is the process: it leads terms, and its services answer the endpoints.
type server struct {
	*backend
	stopping    context.Context // ends when the process does, and streams with it
	stopStreams context.CancelFunc
	requests    atomic.Uint64 // counted for their ids

	jobs    *jobService
	items   *itemService
	hosts   *hostService
	people  *peopleService
	shares  *shareService
	workers *workerService
	page    *pageService
	admin   *adminService
}

func newServer(cfg settings.Config, r store.Reader, log *slog.Logger, version string) (*server, error) {
	b, err := newBackend(cfg, r, log, version)
	if err != nil {
		return nil, err
	}
	s := newServices(b)
	b.metrics = metrics.New(metrics.Sources{
		View: s.lastView, Totals: s.page.totals, Owners: s.shares.owners, Lag: s.lag, Trouble: s.trouble,
		Limits: limits.Names,
	})
	router, err := newRouter(s)
	if err != nil {
		return nil, err
	}
	b.gate = gate.New(s.stopping, b.reader, b.live.now.Load, log, b.reads, s.refused, router)
	return s, nil
}

// newServices are the services on a backend, whose metrics and gate come later, as they ask the services.
func newServices(b *backend) *server {
	s := &server{backend: b}
	s.stopping, s.stopStreams = context.WithCancel(context.Background())
	s.jobs = &jobService{backend: b, trials: whatif.NewTrials(inTurn(b.turns.trials))}
	s.items = &itemService{
		backend: b, itemReads: reads.NewCache(),
		followers: limits.NewStreamLimit(limits.Followed, logFollowers, logsReserved),
	}
	s.hosts = &hostService{backend: b}
	s.people = &peopleService{backend: b, sso: sso.New(b.live.now.Load, b.log)}
	s.shares = &shareService{backend: b, timeline: page.NewTimeline()}
	s.workers = newWorkerService(b)
	s.page = &pageService{
		backend: b, stream: eventstream.New(),
		streams: limits.NewStreamLimit(limits.Streams, streamReaders, streamsReserved),
	}
	s.page.board = live.New(s.lastView, s.page.totals)
	s.admin = &adminService{backend: b}
	return s
}

func (s *server) begin(l *term.Loop) {
	s.loop.Store(l)
	if !l.ReadOnly() { // such a term promises no more than the rows know, whatever was read meanwhile
		s.live.catchUp(l.Tell)
	}
}

func (s *server) end() {
	s.loop.Store(nil)
	s.view.Store(nil)
	s.items.itemReads.Clear()
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
	s.page.stream.Put(events)
	s.page.board.Note(writes)
	for _, w := range writes {
		if job := store.JobOf(w); job != 0 {
			s.items.itemReads.Note(job)
		}
	}
	s.shares.timeline.Note(writes)
}

// ServeHTTP counts answers and keeps a handler's panic from the connection.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	seen := &gate.ResponseRecorder{ResponseWriter: w}
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
	id := s.page.stream.Nonce + "-" + strconv.FormatUint(s.requests.Add(1), 36)
	w.Header().Set("Request-Id", id)
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, requestFacts{id, originOf(r), *r.URL}))
	gate.LimitBodyTime(w, r, bodyTimeout)
	s.gate.ServeHTTP(seen, r)
}

// statusGone is the metrics' status for requests whose client did not wait for the answer, such as a worker that has
// news while its sync is held.
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
