package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Config says where a cluster lives.
type Config struct {
	State  string       // the farm's state folder; made if missing
	BinDir string       // folder of initdb and postgres; "": looked for
	Log    *slog.Logger // nil: nothing is said
	Fast   bool         // nothing is synced to disk: for tests; a power cut may destroy the cluster

	patience patience // zero: the usual
}

// Cluster is a running private Postgres. It is started again when it dies.
type Cluster struct {
	*layout
	cfg    Config
	life   context.Context // ends with Stop
	end    context.CancelFunc
	ended  chan struct{} // the keeper has returned
	failed chan error
	unlock func()

	trouble atomic.Pointer[string] // why no server can be started now

	mu       sync.Mutex
	process  *os.Process // nil between two servers
	pid      int         // of a server that is ready, else 0
	stopping bool
}

// Start makes the cluster if there is none, ends what a crash has left of an earlier server, and returns once its
// own server takes connections: about a second the first time, a tenth later. ctx bounds the start only; Stop ends
// the cluster, and so does the death of this process, however it comes. Without installed server programs the
// error is ErrNoBinaries.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.patience.deaths == 0 {
		cfg.patience = usualPatience
	}
	// Preflight ends servers: two starts on one folder must not meet, whatever else the callers lock.
	unlock, err := lockFile(cfg.State, "pg.lock")
	if err != nil {
		return nil, err
	}
	c, err := start(ctx, cfg)
	if err != nil {
		unlock()
		return nil, err
	}
	c.unlock = unlock
	return c, nil
}

func start(ctx context.Context, cfg Config) (*Cluster, error) {
	where, err := findLayout(ctx, cfg)
	if err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		func() error { return where.initialise(ctx) },
		where.writeAccess,
		where.makeSocketFolder,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	c := &Cluster{layout: where, cfg: cfg, ended: make(chan struct{}), failed: make(chan error, 1)}
	c.life, c.end = context.WithCancel(context.Background())
	first := make(chan error, 1)
	go c.keep(ctx, first)
	select {
	case err = <-first:
	case <-ctx.Done():
		err = fmt.Errorf("waiting for the private Postgres to be ready: %w", ctx.Err())
	}
	if err == nil {
		err = c.ensureDatabase(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.shutDown(ctx))
	}
	return c, nil
}

// ensureDatabase makes the farm's database beside the ones that initdb made.
func (c *Cluster) ensureDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.dsn("postgres"))
	if err != nil {
		return fmt.Errorf("connecting to the private Postgres: %w", err)
	}
	defer conn.Close(ctx)
	var exists bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, database).Scan(&exists)
	if err == nil && !exists {
		_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{database}.Sanitize())
	}
	if err != nil {
		return fmt.Errorf("making database %s: %w", database, err)
	}
	return nil
}

// URL is the data source name of the farm's database, over the unix socket. It stays the same across restarts.
func (c *Cluster) URL() string { return c.dsn(database) }

// PID is the process id of the server; 0 while there is none that takes connections.
func (c *Cluster) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pid
}

// Failed yields one error if the server died so often that it is no longer started.
func (c *Cluster) Failed() <-chan error { return c.failed }

// Stop shuts the server down, cutting its connections: cleanly within 10 s, else hard. When ctx ends it hurries.
// It returns when no process is left.
func (c *Cluster) Stop(ctx context.Context) error {
	err := c.shutDown(ctx)
	c.unlock()
	return err
}

func (c *Cluster) shutDown(ctx context.Context) error {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	c.end()
	// SIGTERM would wait for the clients to leave.
	for _, step := range []struct {
		sig  syscall.Signal
		wait time.Duration
	}{{syscall.SIGINT, 10 * time.Second}, {syscall.SIGQUIT, 5 * time.Second}, {syscall.SIGKILL, 5 * time.Second}} {
		c.signal(step.sig)
		if c.wait(ctx, step.wait) {
			break
		}
	}
	defer c.dropSocketFolder()
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), orphanGiveUp)
	defer cancel()
	return c.clear(clean, c.data)
}

func (c *Cluster) signal(sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil {
		_ = c.process.Signal(sig) // it may have just ended
	}
}

// wait says whether the keeper returned in time; a context that has ended leaves a second.
func (c *Cluster) wait(ctx context.Context, limit time.Duration) bool {
	select {
	case <-c.ended:
		return true
	case <-time.After(limit):
		return false
	case <-ctx.Done():
	}
	select {
	case <-c.ended:
		return true
	case <-time.After(min(limit, time.Second)):
		return false
	}
}
