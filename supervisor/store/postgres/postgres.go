package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"qb/migrations"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// Limits of sessions.
const (
	connectLimit    = 5 * time.Second
	commitLimit     = 20 * time.Second // of one statement of a leader; its caller gives up before
	loadLimit       = 10 * time.Minute
	lockLimit       = 5 * time.Second
	readLimit       = 15 * time.Second       // of one statement of a reader
	cancelLimit     = 500 * time.Millisecond // for Postgres to end a statement whose caller has left
	readConnections = 8
	oldestPostgres  = 150000
)

// Options of a store. All may be left out.
type Options struct {
	Name            string       // of this supervisor, for the epoch row; "": host and process id
	ReadConnections int          // at most so many at once; 0: 8
	Farm            []byte       // public key of the farm; another farm's database is refused. nil: not asked
	Log             *slog.Logger // nil: nothing is said
}

// Store is the store that farms use. It is safe for concurrent use; each term has a session of its own.
type Store struct {
	lead *pgx.ConnConfig
	pool *pgxpool.Pool
	name string
	farm []byte
	log  *slog.Logger

	trouble atomic.Pointer[error] // why Lead cannot even try, nil while it can
	servers servers               // what is known of the addresses of database_url
	crowded atomic.Bool           // the server had no connection left for Lead: readers open none
}

var (
	_ store.Store  = (*Store)(nil)
	_ store.Reader = (*Store)(nil)
	_ store.Upkeep = (*Store)(nil)
)

// Open brings the schema up to date and connects for reading. The server must be Postgres 15 or newer; a pooler in
// between that would share or change the leader's session is refused.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Name == "" {
		host, _ := os.Hostname()
		opts.Name = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	if opts.ReadConnections <= 0 {
		opts.ReadConnections = readConnections
	}
	lead, err := leaderConfig(url)
	if err != nil {
		return nil, err
	}
	p := newStore(lead, opts)
	conn, err := p.connect(ctx) // says at the start what would keep every term from beginning
	if err != nil {
		return nil, err
	}
	drop(conn)
	if err := migrate(ctx, p.at(conn), migrations.Files, opts.Log); err != nil {
		return nil, err
	}
	if p.pool, err = p.openPool(ctx, url, opts.ReadConnections); err != nil {
		return nil, err
	}
	if err := p.checkFarm(ctx); err != nil {
		p.pool.Close()
		return nil, err
	}
	return p, nil
}

func newStore(lead *pgx.ConnConfig, opts Options) *Store {
	p := &Store{lead: lead, name: rules.Clean(opts.Name), farm: opts.Farm, log: opts.Log}
	p.servers.list = addresses(lead)
	p.servers.avoided = map[string]time.Time{}
	p.servers.said = map[string]time.Time{}
	return p
}

// Close ends the reading connections. Terms end by themselves.
func (p *Store) Close() { p.pool.Close() }

// parse reads a URL without repeating it in the error, for it may hold a password.
func parse(url string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database_url cannot be read: %w", err)
	}
	tune(cfg)
	return cfg, nil
}

func tune(cfg *pgx.ConnConfig) {
	cfg.ConnectTimeout = connectLimit
	dialer := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 3 * time.Second, Interval: time.Second, Count: 4,
	}}
	cfg.DialFunc = dialer.DialContext
	cfg.RuntimeParams["timezone"] = "UTC"
	cfg.RuntimeParams["plan_cache_mode"] = planCacheMode
	cfg.RuntimeParams["jit"] = noJIT
}

// leaderConfig makes a session that Postgres ends by itself when its leader falls silent, in a transaction or not.
func leaderConfig(url string) (*pgx.ConnConfig, error) {
	cfg, err := parse(url)
	if err != nil {
		return nil, err
	}
	maps.Copy(cfg.RuntimeParams, relied())
	for name, value := range map[string]string{
		"application_name":                 "qb leader",
		"tcp_keepalives_idle":              "3",
		"tcp_keepalives_interval":          "1",
		"tcp_keepalives_count":             "4",
		"tcp_user_timeout":                 milliseconds(store.TrustFor),
		"client_connection_check_interval": "2000",
	} {
		cfg.RuntimeParams[name] = value
	}
	return cfg, nil
}

func milliseconds(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

// openPool makes the readers' connections. When a caller disconnects, its statement is cancelled and its connection
// stays open: otherwise callers that disconnect in a loop would make Postgres start a process for each. While crowded
// is set the pool opens no more connections, so that the leader's session, which everything waits for, gets the next
// free one.
func (p *Store) openPool(ctx context.Context, url string, connections int) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database_url cannot be read: %w", err)
	}
	tune(cfg.ConnConfig)
	cfg.ConnConfig.RuntimeParams["application_name"] = "qb reader"
	cfg.ConnConfig.RuntimeParams["statement_timeout"] = milliseconds(readLimit)
	cfg.ConnConfig.RuntimeParams["lock_timeout"] = milliseconds(lockLimit)
	cfg.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = milliseconds(readLimit)
	cfg.BeforeConnect = func(_ context.Context, cfg *pgx.ConnConfig) error {
		if p.crowded.Load() {
			return store.ErrConnections
		}
		if chosen := p.servers.chosen.Load(); chosen != nil {
			goTo(cfg, chosen)
		}
		return nil
	}
	cfg.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		readUTC(conn.TypeMap())
		return nil
	}
	cfg.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelLimit}
	}
	cfg.MaxConns = int32(connections)
	cfg.MaxConnIdleTime = time.Minute
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to the database: %w", err)
	}
	return pool, nil
}
