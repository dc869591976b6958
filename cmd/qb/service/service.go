package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/config"
	"qb/cmd/qb/find"
	"qb/cmd/qb/output"
	"qb/internal/pause"
	"qb/internal/statedir"
	"qb/supervisor/access/credentials"
	"qb/supervisor/doors"
	"qb/supervisor/lead/farmkey"
	"qb/supervisor/serve"
	"qb/supervisor/store"
	"qb/supervisor/store/postgres"
)

// Commands are qb farm and its parts, and the ones that work on their rows and files. Connect calls the farm that runs,
// for an audit.
func Commands(connect func(*cobra.Command) Supervisor) []*cobra.Command {
	return []*cobra.Command{
		newFarmCommand(), newSupervisorCommand(), newWorkerCommand(), newBackupCommand(), newRestoreCommand(), newCACommand(),
		newAuditCommand(connect), newPlanCommand(),
	}
}

// newLog writes for people on a terminal, JSON elsewhere.
func newLog(out io.Writer) *slog.Logger { return newLogFrom(out, slog.LevelInfo) }

// newLogFrom leaves out what is below the level.
func newLogFrom(out io.Writer, least slog.Level) *slog.Logger {
	if output.IsTerminal(out) {
		return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: least}))
	}
	return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: least, ReplaceAttr: spelledOut}))
}

// levelOf is the least level of a log that tells details, or only warnings and errors.
func levelOf(details bool) slog.Level {
	if details {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// spelledOut writes time spans as 1.5s, not as a number of nanoseconds.
func spelledOut(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// service is the configuration of a supervisor, and what it needs besides.
type service struct {
	*config.Config
	again  func() (*service, error) // reads the configuration as it was read
	hangup <-chan os.Signal
	ports  *ports
	key    farmkey.Key // once loaded
}

// chooseState fills in the state folder and what lies in it.
func (c *service) chooseState() error {
	if c.SupervisorKeys.State == "" {
		state, err := find.DefaultState()
		if err != nil {
			return err
		}
		c.SupervisorKeys.State = state
		if os.Getenv("QB_STATE") != "" {
			c.Origins["supervisor_state"] = "QB_STATE"
		}
	}
	state, err := filepath.Abs(c.SupervisorKeys.State)
	if err != nil {
		return fmt.Errorf("finding the state folder: %w", err)
	}
	c.SupervisorKeys.State = state
	if c.KeyFile == "" {
		c.KeyFile = filepath.Join(state, "farm.key")
	}
	if c.Socket == "" {
		c.Socket = defaultSocket(state)
	}
	if c.Socket == "" && c.TLS() {
		return api.BadSetting("supervisor_socket",
			" is empty and %s/qb.sock is too long for a socket; set it to a shorter path, as programs on this machine need it beside TLS", state)
	}
	return nil
}

// makeState makes the state folder, or refuses a folder that is not this user's alone. Where the socket of root's farm,
// which serves the machine's users, lies in it, they may reach that and farm.json by name; nothing else in it is open
// to them.
func (c *service) makeState() error {
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 && filepath.Dir(c.Socket) == c.SupervisorKeys.State {
		mode = 0o711
	}
	return statedir.Make(c.SupervisorKeys.State, mode)
}

// prepare makes the folders of a supervisor, and catches SIGHUP and SIGUSR2 from then on.
func (c *service) prepare() error {
	c.hangup = onHangup()
	var err error
	if c.ports, err = newPorts(); err != nil {
		return err
	}
	if err := c.makeState(); err != nil {
		return err
	}
	return c.makeRunFolder()
}

func (c *service) tokenFile(role api.Role) string {
	return filepath.Join(c.SupervisorKeys.State, string(role)+".token")
}

// openStore connects to the database and makes sure of the two tokens: the admin's, for the OS user
// that started this, and the local workers'.
func (c *service) openStore(ctx context.Context, url string, log *slog.Logger) (*postgres.Store, error) {
	st, err := postgres.Open(ctx, url, postgres.Options{Log: log, Farm: c.key.Public()})
	if err != nil {
		return nil, err
	}
	err = c.renewTokens(ctx, st)
	if statedir.Full(err) { // the farm can do without until there is room: it tries again while it leads
		log.Warn("the files of the service's tokens cannot be written; will retry", "error", err)
		err = nil
	}
	if err != nil {
		st.Close()
		return nil, err
	}
	return st, nil
}

// renewTokens sees to it that both files hold a token with half of its life before it.
func (c *service) renewTokens(ctx context.Context, st store.Reader) error {
	for _, t := range []struct {
		role api.Role
		user string
	}{{api.Admin, statedir.OwnName()}, {api.Worker, "worker"}} {
		if err := credentials.Ensure(ctx, c.key, st, c.tokenFile(t.role), t.user, string(t.role),
			c.SupervisorKeys.TokenDays); err != nil {
			return err
		}
	}
	return nil
}

// loadKey reads the farm's key, which is made at the first start.
func (c *service) loadKey(log *slog.Logger) (made bool, err error) {
	key, made, err := farmkey.Load(c.KeyFile)
	if err != nil {
		return false, fmt.Errorf("supervisor_key_file: %w", err)
	}
	if made {
		log.Info("farm key created; copy it to every other supervisor of this farm", "file", c.KeyFile)
	}
	c.key = key
	return made, nil
}

// Waits for a database that does not answer when a service starts.
const (
	databaseFirst = 200 * time.Millisecond
	databaseMost  = 5 * time.Second
	databaseSay   = 30 * time.Second // between two messages
)

// awaitStore opens the store, again and again while the database does not answer, until ctx ends: a service that
// starts with its machine may come up first. What is wrong with the configuration is an error at once.
func (c *service) awaitStore(ctx context.Context, url string, log *slog.Logger) (*postgres.Store, error) {
	if _, err := c.loadKey(log); err != nil {
		return nil, err
	}
	var said time.Time
	for wait := databaseFirst; ; wait = min(2*wait, databaseMost) {
		st, err := c.openStore(ctx, url, log)
		if err == nil || !postgres.Outage(err) {
			return st, err
		}
		if time.Since(said) > databaseSay {
			said = time.Now()
			log.Warn("waiting for the database (database_url)", "error", err)
		}
		if ended := pause.For(ctx, wait); ended != nil {
			return nil, fmt.Errorf("waiting for the database: %w; last: %w", ended, err)
		}
	}
}

// farmFile is what farm.json will say of this supervisor.
func (c *service) farmFile(url, database string) find.Farm {
	return find.Farm{URL: url, Socket: c.Socket, TokenFile: c.tokenFile(api.Admin), PID: os.Getpid(),
		DatabaseURL: database}
}

// newSupervisorCommand makes the service by itself, on a database that qb.conf names.
func newSupervisorCommand() *cobra.Command {
	var listen, state string
	var restart bool
	cmd := &cobra.Command{
		Use: "supervisor", Short: "Run only the supervisor, on the database named in qb.conf",
		Args: commandline.WantArgs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := serviceConfig(cmd, state, listen)
			if err != nil {
				return err
			}
			if restart {
				return conf.orderRestart(cmd.Context())
			}
			return runSupervisor(cmd, conf)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "`ADDR` to listen on (default: supervisor_listen)")
	cmd.Flags().StringVar(&state, "state", "", "`DIR` for the supervisor's own files (default: supervisor_state, then QB_STATE)")
	cmd.Flags().BoolVar(&restart, "restart", false, restartUsage)
	return cmd
}

// serviceConfig is the configuration with the options of a service laid over it, at last by others.
func serviceConfig(cmd *cobra.Command, state, listen string, others ...func(*service) error) (*service, error) {
	read, err := find.Config(cmd)
	if err != nil {
		return nil, err
	}
	conf := &service{Config: read}
	conf.SupervisorKeys.Origins = conf.Origins
	if state != "" {
		conf.SupervisorKeys.State, conf.Origins["supervisor_state"] = state, "option -state"
	}
	if listen != "" {
		conf.Listen, conf.Origins["supervisor_listen"] = listen, "option -listen"
	}
	for _, lay := range others {
		if err := lay(conf); err != nil {
			return nil, err
		}
	}
	if err := conf.Validate(); err != nil {
		return nil, err
	}
	conf.again = func() (*service, error) { return serviceConfig(cmd, state, listen, others...) }
	return conf, conf.chooseState()
}

func runSupervisor(cmd *cobra.Command, conf *service) error {
	ctx, log := cmd.Context(), newLog(cmd.ErrOrStderr())
	if conf.DatabaseURL == "" {
		return api.Errorf(api.KindInvalid,
			"qb supervisor needs database_url in qb.conf or QB_DATABASE_URL; qb farm brings a Postgres of its own")
	}
	if err := conf.prepare(); err != nil {
		return err
	}
	st, err := conf.awaitStore(ctx, conf.DatabaseURL, log)
	if err != nil {
		return orClean(ctx, err)
	}
	defer st.Close()
	ready := make(chan string, 1)
	ended := make(chan error, 1)
	running, stop := context.WithCancel(ctx)
	defer stop()
	go func() { ended <- conf.supervise(running, st, log, ready, nil) }()
	var unpublish func()
	select {
	case err := <-ended:
		return orClean(ctx, err)
	case url := <-ready:
		unpublish = conf.publish(conf.farmFile(url, conf.DatabaseURL), log)
		fmt.Fprintln(cmd.OutOrStdout(), "ready", url)
	}
	select {
	case err = <-ended:
		unpublish()
		return errors.Join(orClean(ctx, err), conf.removeFarmFile())
	case <-conf.ports.asked:
	}
	return conf.ports.become(func() error {
		stop()
		err := <-ended
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		unpublish()
		st.Close()
		return errors.Join(err, conf.removeFarmFile())
	})
}

// supervise runs the supervisor and sends its address once it leads. Trouble says what is known to be wrong
// with the database; it may be nil.
func (c *service) supervise(ctx context.Context, st *postgres.Store, log *slog.Logger, ready chan<- string,
	trouble func() string) error {
	workers, err := config.Workers(c.WorkerConfigFile)
	if err != nil {
		return err
	}
	collectLess()
	return serve.Run(ctx, c.SupervisorKeys, serve.Options{
		Store: st, Key: c.key, Log: log, Version: api.Version(), Ready: func(url string) { ready <- url },
		Reload: c.reload, Hangup: c.hangup, Trouble: trouble, Workers: workers, Inherited: c.ports.given,
		Listening:   c.ports.open.Store,
		Doors:       doors.Open,
		RenewTokens: func(ctx context.Context) error { return c.renewTokens(ctx, st) },
	})
}

// orClean takes an end that was asked for as none.
func orClean(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
