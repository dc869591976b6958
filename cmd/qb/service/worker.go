package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/config"
	"qb/cmd/qb/find"
	"qb/internal/statedir"
	"qb/supervisor/job/facts"
	"qb/worker"
	workersettings "qb/worker/settings"
)

type workerOptions struct {
	supervisor, name, state, runAs, tokenFile string
	join, token                               string
	slots                                     int
	stopItems, noDevices, allowRoot, quiet    bool
	check                                     bool
}

func newWorkerCommand() *cobra.Command {
	var o workerOptions
	cmd := &cobra.Command{
		Use: "worker", Short: "Run this host's worker", Args: commandline.WantArgs(0, 0, ""),
		Long: "Run this host's worker. When it is ended by TERM, items continue and the next worker adopts them;\n" +
			"with -stop-items it ends them first.",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	// This hides the option of all commands: a worker does not read QB_SUPERVISOR, which names the supervisor for
	// commands.
	cmd.Flags().StringVar(&o.supervisor, "supervisor", "", "`URL` or unix:PATH of the supervisor, several separated by commas (default: worker_supervisor, then farm.json)")
	cmd.Flags().StringVar(&o.name, "name", "", "`NAME` of the host in the farm (default: worker_name, then the hostname)")
	cmd.Flags().IntVar(&o.slots, "slots", 0, "`N` slots (default: worker_cpus, then the number of cores)")
	cmd.Flags().StringVar(&o.state, "state", "", "`DIR` for records and output (default: worker_state)")
	cmd.Flags().StringVar(&o.runAs, "run_as", "", "`ACCOUNT` under which items run: agent or owner (default: worker_run_as)")
	cmd.Flags().BoolVar(&o.allowRoot, "allow_root", false, "run jobs of root too, as worker_allow_root = true does")
	cmd.Flags().StringVar(&o.tokenFile, "token_file", "", "`FILE` with the worker's token (default: worker_token_file)")
	cmd.Flags().StringVar(&o.join, "join", "", "`URL` of the supervisor of a farm to join, with a token from qbadmin worker token in QB_TOKEN, -token_file or on standard input (-token -); the state folder then knows the farm, and qb worker needs neither again")
	cmd.Flags().StringVar(&o.token, "token", "", "`-`: read the token to join with from standard input")
	cmd.Flags().BoolVar(&o.stopItems, "stop-items", false, "end all items when the worker is stopped")
	cmd.Flags().BoolVar(&o.quiet, "quiet", false,
		"log only warnings and errors, without the account under which items run")
	cmd.Flags().BoolVar(&o.check, "check", false,
		"check the configuration and exit; qbadmin worker -restart does this before it restarts the worker")
	cmd.Flags().BoolVar(&o.noDevices, "no-devices", false, "offer no GPUs, because another worker on the machine does")
	return cmd
}

func (o *workerOptions) run(cmd *cobra.Command) error {
	conf, err := find.Config(cmd)
	if err != nil {
		return err
	}
	keys := &conf.WorkerKeys
	for _, option := range []struct {
		value string
		key   *string
	}{{o.name, &keys.Name}, {o.state, &keys.State}, {o.runAs, &keys.RunAs}, {o.tokenFile, &keys.TokenFile}} {
		if option.value != "" {
			*option.key = option.value
		}
	}
	keys.AllowRoot = keys.AllowRoot || o.allowRoot
	if o.slots > 0 {
		keys.CPUs = o.slots
	}
	joinToken, err := o.joinToken(cmd.InOrStdin())
	if err != nil {
		return err
	}
	if err := completeWorker(conf, cmp.Or(o.join, o.supervisor), o.join != ""); err != nil {
		return err
	}
	if err := conf.WithOrigin(errors.Join(keys.Validate(), keys.Startable())); err != nil {
		return err
	}
	if o.check {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "a worker can start with this configuration")
		return err
	}
	if err := statedir.Make(keys.State, 0o700, stateOwner(keys.State)...); err != nil {
		return err
	}
	trusted, err := find.Trusted(conf)
	if err != nil {
		return err
	}
	if o.join != "" {
		if err := worker.Join(cmd.Context(), *keys, joinToken, trusted...); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "joined %s; from now on, start this worker with qb worker\n",
			strings.Join(keys.Supervisor, ", "))
	}
	options := worker.Options{
		Log: newLogFrom(cmd.ErrOrStderr(), levelOf(!o.quiet)), RunAsShown: o.quiet, Trusted: trusted,
		StopItems: func() bool { return o.stopItems }, NoDevices: o.noDevices, Own: ownKeys(conf, o.slots > 0),
		Check: func(ctx context.Context) error { return checkWorker(ctx, restartArgs(cmd)) },
	}
	reapShims()
	err = worker.Run(cmd.Context(), *keys, options)
	switch {
	case !errors.Is(err, worker.ErrRestart):
		return err
	case cmd.Context().Err() != nil: // TERM came meanwhile, and the new program would not hear of it
		return worker.Run(cmd.Context(), *keys, options)
	}
	return becomeWorker(restartArgs(cmd))
}

// ownKeys are the settings that this host's configuration, or an option, sets, so that the supervisor's file does not.
func ownKeys(conf *config.Config, slots bool) (own []string) {
	for _, key := range workersettings.CentralKeys {
		if conf.Origins[key] != "" || key == "worker_cpus" && slots {
			own = append(own, key)
		}
	}
	return own
}

// maxJoinToken bounds what is read of a token.
const maxJoinToken = 4 << 10

// joinToken is the token to join with; none without -join. It is never an argument: all users of the machine see those.
func (o *workerOptions) joinToken(stdin io.Reader) (token string, err error) {
	environment := os.Getenv("QB_TOKEN")
	switch {
	case o.token != "" && o.token != "-":
		return "", api.Errorf(api.KindUsage,
			"-token accepts only -, because all users of this machine see the arguments of a command: set QB_TOKEN, name a file with -token_file, or give the token on standard input with -token -")
	case o.join == "" && o.token == "":
		return "", nil
	case o.join == "" || o.supervisor != "":
		return "", api.Errorf(api.KindUsage,
			"give -join URL with the token, without -supervisor, as qbadmin worker token prints them")
	case o.token == "-":
		text, err := io.ReadAll(io.LimitReader(stdin, maxJoinToken))
		if err != nil {
			return "", fmt.Errorf("reading the token from standard input: %w", err)
		}
		token = string(text)
	case o.tokenFile != "":
		file, err := statedir.OpenNamed(o.tokenFile)
		if err != nil {
			return "", fmt.Errorf("reading -token_file: %w", err)
		}
		defer file.Close()
		text, err := io.ReadAll(io.LimitReader(file, maxJoinToken))
		if err != nil {
			return "", fmt.Errorf("reading -token_file: %w", err)
		}
		token = string(text)
	default:
		token = environment
		_ = os.Unsetenv("QB_TOKEN") // what this process starts has no use for it
	}
	if token = strings.TrimSpace(token); token == "" {
		return "", api.Errorf(api.KindUsage,
			"-join needs a token: paste the whole line that qbadmin worker token prints, which begins with QB_TOKEN=")
	}
	return token, nil
}

// stateOwner is who may own the folder above a worker's: where supervisor and worker are two services, root's worker
// has its folder in the state folder of the supervisor's user, from whom it takes all orders anyway.
func stateOwner(worker string) []int {
	state, err := find.DefaultState()
	if err != nil || filepath.Dir(worker) != state {
		return nil
	}
	info, err := os.Lstat(state)
	if err != nil {
		return nil
	}
	return []int{int(info.Sys().(*syscall.Stat_t).Uid)}
}

// completeWorker finds what was not set: the state folder, the supervisor and the token of a farm that
// runs on this host.
func completeWorker(c *config.Config, supervisor string, joins bool) error {
	keys := &c.WorkerKeys
	state, err := find.DefaultState()
	if err != nil {
		return err
	}
	if keys.State == "" {
		keys.State = filepath.Join(state, "worker")
	}
	if keys.State, err = filepath.Abs(keys.State); err != nil {
		return err
	}
	joined := worker.Joined(keys.State)
	switch {
	case supervisor != "":
		keys.Supervisor = facts.SplitList(supervisor)
	case len(keys.Supervisor) == 0:
		keys.Supervisor = joined
	}
	if len(joined) > 0 || joins {
		return nil // its token lies in the state folder
	}
	farm, name, err := find.ReadFarm(c)
	if err != nil && (len(keys.Supervisor) == 0 || keys.TokenFile == "") {
		return err
	}
	if err == nil && farm != nil {
		if len(keys.Supervisor) == 0 {
			keys.Supervisor = []string{farm.URL}
		}
		list, own := find.BySocket(strings.Join(keys.Supervisor, ","), farm), find.BySocket(farm.URL, farm)
		keys.Supervisor = facts.SplitList(list)
		if keys.TokenFile == "" && farm.TokenFile != "" && find.MeantFor(list, own) {
			keys.TokenFile = filepath.Join(filepath.Dir(farm.TokenFile), "worker.token")
		}
	}
	if len(keys.Supervisor) == 0 {
		return api.Errorf(api.KindUnavailable, "no farm found: worker_supervisor is not set and there is no %s", name)
	}
	if keys.TokenFile == "" {
		return api.Errorf(api.KindUsage,
			"no token: worker_token_file is not set and there is no %s; name the worker.token that the supervisor keeps beside its admin token, "+
				"or a file with what qbadmin token create -role worker printed", name)
	}
	return nil
}
