package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"qb/internal/guard"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// askLimit is the timeout of a query to one address. All addresses are queried in parallel.
const askLimit = 2 * time.Second

// servers is what a store knows of the addresses in database_url. A replica that was promoted is on a higher timeline
// of Postgres than the server that it follows: its rows are the farm's, and that server's are not, should it come back.
type servers struct {
	list   []*pgx.ConnConfig              // one for each address
	chosen atomic.Pointer[pgx.ConnConfig] // where readers go, too; nil: there is but one address

	mu      sync.Mutex
	newest  int64                // highest timeline that a server or host has reported
	avoided map[string]time.Time // addresses at which a term has failed
	said    map[string]time.Time // addresses that did not answer
}

// answer is what a server said.
type answer struct {
	at              *pgx.ConnConfig
	timeline, epoch int64
	err             error
}

// addresses are the configurations of the single servers that a URL names.
func addresses(cfg *pgx.ConnConfig) (list []*pgx.ConnConfig) {
	all := append([]*pgconn.FallbackConfig{{Host: cfg.Host, Port: cfg.Port, TLSConfig: cfg.TLSConfig}}, cfg.Fallbacks...)
	for len(all) > 0 {
		same := func(f *pgconn.FallbackConfig) bool { return f.Host == all[0].Host && f.Port == all[0].Port }
		one := cfg.Copy()
		one.Host = all[0].Host
		one.Port = all[0].Port
		one.TLSConfig = all[0].TLSConfig
		one.Fallbacks = nil
		for _, f := range all[1:] {
			if same(f) { // the same with TLS, or without
				one.Fallbacks = append(one.Fallbacks, f)
			}
		}
		list, all = append(list, one), slices.DeleteFunc(slices.Clone(all), same)
	}
	return list
}

// goTo changes a configuration so that it leads to another's server.
func goTo(cfg, server *pgx.ConnConfig) {
	cfg.Host = server.Host
	cfg.Port = server.Port
	cfg.TLSConfig = server.TLSConfig
	cfg.Fallbacks = server.Fallbacks
}

// at is the configuration of the server to which a connection goes.
func (p *Store) at(conn *pgx.Conn) *pgx.ConnConfig {
	for _, one := range p.servers.list {
		if place(one) == place(conn.Config()) {
			return one
		}
	}
	return p.lead
}

// connectBest connects to the server with the farm's rows, and has readers go there, too.
func (p *Store) connectBest(ctx context.Context) (*pgx.Conn, error) {
	conn, err := p.reach(ctx, p.lead.RuntimeParams["application_name"])
	if err != nil || len(p.servers.list) == 1 {
		return conn, err
	}
	at := p.at(conn)
	if was := p.servers.chosen.Swap(at); was != nil && was != at && p.pool != nil {
		p.pool.Reset()
	}
	return conn, nil
}

// beside is for programs beside the supervisor, such as an audit: they go to the server to which a leader goes. A
// former primary takes connections, too, but its rows are not the farm's.
func beside(databaseURL string) (*Store, error) {
	cfg, err := parse(databaseURL)
	if err != nil {
		return nil, err
	}
	return newStore(cfg, Options{Log: slog.New(slog.DiscardHandler)}), nil
}

// reach connects, under an application name, to the server with the farm's rows: of all servers that answer, the one on
// the highest timeline, then with the highest term. A server where a term has just failed comes last among equals.
func (p *Store) reach(ctx context.Context, as string) (*pgx.Conn, error) {
	connect := func(at *pgx.ConnConfig) (*pgx.Conn, error) {
		cfg := at.Copy()
		cfg.RuntimeParams["application_name"] = as
		return pgx.ConnectConfig(ctx, cfg)
	}
	if len(p.servers.list) == 1 {
		return connect(p.lead)
	}
	var failed []error
	for _, a := range p.ask(ctx) {
		if a.err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", place(a.at), a.err))
			continue
		}
		conn, err := connect(a.at)
		if err == nil {
			return conn, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// ask asks all addresses for their timeline and term. It sorts the answers, best first; servers that cannot lead come
// last.
func (p *Store) ask(ctx context.Context) []answer {
	answers := make([]answer, len(p.servers.list))
	var all sync.WaitGroup
	for n, at := range p.servers.list {
		all.Go(func() {
			if err := guard.Once(func() error { answers[n] = askOne(ctx, at); return nil }); err != nil {
				answers[n] = answer{at: at, err: err}
			}
		})
	}
	all.Wait()
	for n := range answers {
		p.noteTimeline(answers[n].timeline)
		p.noteAnswer(answers[n])
	}
	p.servers.mu.Lock()
	defer p.servers.mu.Unlock()
	for n := range answers {
		if a := &answers[n]; a.err == nil && a.timeline > 0 && a.timeline < p.servers.newest {
			a.err = store.ErrOlderServer
		}
	}
	slices.SortStableFunc(answers, func(a, b answer) int {
		if (a.err == nil) != (b.err == nil) {
			if a.err == nil {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.timeline, a.timeline),
			p.servers.avoided[place(a.at)].Compare(p.servers.avoided[place(b.at)]), cmp.Compare(b.epoch, a.epoch))
	})
	return answers
}

func askOne(ctx context.Context, at *pgx.ConnConfig) (a answer) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	a.at = at
	cfg := at.Copy()
	cfg.ConnectTimeout, cfg.RuntimeParams["application_name"] = askLimit, "qb looks around"
	cfg.ValidateConnect = nil // a replica that follows is in order, and says so itself
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		a.err = err
		return a
	}
	defer drop(conn)
	if a.timeline, a.err = timelineOf(ctx, conn); a.err != nil {
		return a
	}
	if err := conn.QueryRow(ctx, sqlEpoch).Scan(&a.epoch); err != nil {
		a.epoch = 0 // no farm has been led there yet
	}
	return a
}

// timelineOf returns the timeline that a server writes, 0 if the server does not reveal it. A standby server is
// refused.
func timelineOf(ctx context.Context, conn *pgx.Conn) (timeline int64, err error) {
	err = conn.QueryRow(ctx, sqlTimeline).Scan(&timeline)
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused) && (refused.Code == codeNoRight || refused.Code == "0A000" || refused.Code == "42883"):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("asking the database for its timeline: %w", err)
	case timeline < 0:
		return 0, store.ErrReadOnly
	}
	return timeline, nil
}

// isBest refuses a server if another address has a server on a higher timeline, or if a host has reported a higher one.
// Servers that do not answer are ignored.
func (p *Store) isBest(ctx context.Context, conn *pgx.Conn, timeline int64) error {
	if len(p.servers.list) > 1 {
		for _, a := range p.ask(ctx) {
			if a.err == nil && a.timeline > timeline && timeline > 0 {
				return fmt.Errorf("%w: %s is on timeline %d, %s on timeline %d", store.ErrBetterServer, place(a.at), a.timeline,
					place(conn.Config()), timeline)
			}
		}
	}
	p.servers.mu.Lock()
	defer p.servers.mu.Unlock()
	if timeline > 0 && timeline < p.servers.newest {
		return store.ErrOlderServer
	}
	return nil
}

// Older is a server from which the farm has moved on, and what is given up with the rows that came after its own.
type Older struct {
	Timeline, Newer int64 // its own timeline, and the timeline that hosts obey; 0: unknown
	Led             time.Time
	Jobs, Attempts  int64 // in its rows

	GivenUp *GivenUp // of a newer server that was asked; nil: none was
}

// GivenUp counts what a newer server has and an older one lacks.
type GivenUp struct{ Jobs, Begun, Ended int64 }

// AcceptOlder takes the rows of a server from which the farm has moved on, once what is given up has been counted: the
// database becomes a lineage of its own, to which hosts change when they have been listened to. Without take it only
// counts.
func AcceptOlder(ctx context.Context, databaseURL, newer string, take bool) (o Older, err error) {
	conn, err := openRestore(ctx, databaseURL)
	if err != nil {
		return o, err
	}
	defer drop(conn)
	if o.Timeline, err = timelineOf(ctx, conn); err != nil {
		return o, err
	}
	var last, silent float64
	if err := conn.QueryRow(ctx, sqlOlderRows).Scan(&o.Newer, &o.Led, &silent, &o.Jobs, &o.Attempts, &last); err != nil {
		return o, fmt.Errorf("looking at the older rows: %w", Named(err))
	}
	if newer != "" {
		if o.GivenUp, err = givenUp(ctx, newer, int64(last), o.Led); err != nil {
			return o, err
		}
	}
	switch {
	case !take:
		return o, nil
	case silent < store.TrustFor.Seconds():
		return o, errors.New("a supervisor leads with this database: stop it first")
	case o.Newer <= o.Timeline:
		return o, errors.New(
			"no host has reported a newer server: start the supervisors with this server alone in database_url; " +
				"if the farm has moved on, the first host that reports shows the newer server, and no supervisor leads here: then repeat this command")
	}
	if _, err := conn.Exec(ctx, sqlAcceptOlder, rules.NewLineage()); err != nil {
		return o, fmt.Errorf("accepting the older rows: %w", Named(err))
	}
	return o, nil
}

func givenUp(ctx context.Context, newer string, lastJob int64, led time.Time) (*GivenUp, error) {
	conn, err := openRestore(ctx, newer)
	if err != nil {
		return nil, fmt.Errorf("the newer server: %w", err)
	}
	defer drop(conn)
	g := new(GivenUp)
	if err := conn.QueryRow(ctx, sqlGivenUp, lastJob, led).Scan(&g.Jobs, &g.Begun, &g.Ended); err != nil {
		return nil, fmt.Errorf("counting what the newer server has: %w", Named(err))
	}
	return g, nil
}

func (p *Store) noteTimeline(timeline int64) {
	p.servers.mu.Lock()
	defer p.servers.mu.Unlock()
	p.servers.newest = max(p.servers.newest, timeline)
}

// noteAnswer says now and then that an address does not answer.
func (p *Store) noteAnswer(a answer) {
	p.servers.mu.Lock()
	defer p.servers.mu.Unlock()
	at := place(a.at)
	if a.err != nil && !errors.Is(a.err, store.ErrReadOnly) && time.Since(p.servers.said[at]) > sayAgain {
		p.servers.said[at] = time.Now()
		p.log.Warn("an address of database_url does not answer; it is left out", "address", at, "error", a.err)
	}
}

// avoid notes that a term failed at the connection's address: the next one tries others first.
func (p *Store) avoid(conn *pgx.Conn) {
	p.servers.mu.Lock()
	defer p.servers.mu.Unlock()
	p.servers.avoided[place(conn.Config())] = time.Now()
}
