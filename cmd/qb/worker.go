package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/config"
	"qb/statedir"
	"qb/worker"
)

type workerOptions struct {
	supervisor, name, state, runAs, tokenFile string
	join, token                               string
	slots                                     int
	stopItems, noDevices, allowRoot, quiet    bool
}

func newWorkerCommand() *cobra.Command {
	var o workerOptions
	cmd := &cobra.Command{
		Use: "worker", Short: "Run this host's worker", Args: wantArgs(0, 0, ""),
		Long: "Run this host's worker. When it is ended by TERM, items continue and the next worker adopts them;\n" +
			"with -stop-items it ends them first.",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	// This hides the option of all commands: a worker does not read QB_SUPERVISOR, which names the supervisor for commands.
	cmd.Flags().StringVar(&o.supervisor, "supervisor", "", "`URL` or unix:PATH of the supervisor, several separated by commas (default: worker_supervisor, then farm.json)")
	cmd.Flags().StringVar(&o.name, "name", "", "`NAME` of the host in the farm (default: worker_name, then the hostname)")
	cmd.Flags().IntVar(&o.slots, "slots", 0, "`N` slots (default: worker_cpus, then the number of cores)")
	cmd.Flags().StringVar(&o.state, "state", "", "`DIR` for records and output (default: worker_state)")
	cmd.Flags().StringVar(&o.runAs, "run_as", "", "`ACCOUNT` under which items run: agent or owner (default: worker_run_as)")
	cmd.Flags().BoolVar(&o.allowRoot, "allow_root", false, "run jobs of root too, as worker_allow_root = true does")
	cmd.Flags().StringVar(&o.tokenFile, "token_file", "", "`FILE` with the worker's token (default: worker_token_file)")
	cmd.Flags().StringVar(&o.join, "join", "", "`URL` of the supervisor of a farm to join, with -token; the state folder then knows the farm, and qb worker needs neither again")
	cmd.Flags().StringVar(&o.token, "token", "", "`TOKEN` to join with, from qbadmin worker token")
	cmd.Flags().BoolVar(&o.stopItems, "stop-items", false, "end all items when the worker is stopped")
	cmd.Flags().BoolVar(&o.quiet, "quiet", false, "log only warnings and errors, and not as whom items run")
	cmd.Flags().BoolVar(&o.noDevices, "no-devices", false, "offer no GPUs, because another worker on the machine does")
	return cmd
}

func (o *workerOptions) run(cmd *cobra.Command) error {
	conf, err := loadConfig(cmd)
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
	if (o.join == "") != (o.token == "") || o.join != "" && o.supervisor != "" {
		return api.Errorf(api.KindUsage, "give -join URL and -token TOKEN together, without -supervisor, as qbadmin worker token prints them")
	}
	if err := settleWorker(conf, cmp.Or(o.join, o.supervisor), o.join != ""); err != nil {
		return err
	}
	if err := conf.WithOrigin(errors.Join(keys.Validate(), keys.Startable())); err != nil {
		return err
	}
	if err := statedir.Make(keys.State, 0o700, stateOwner(keys.State)...); err != nil {
		return err
	}
	trusted, err := trusted(conf)
	if err != nil {
		return err
	}
	if o.join != "" {
		if err := worker.Join(cmd.Context(), *keys, o.token, trusted...); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "joined %s; from now on, start this worker with qb worker\n", strings.Join(keys.Supervisor, ", "))
	}
	return worker.Run(cmd.Context(), *keys, worker.Options{
		Log: newLogFrom(cmd.ErrOrStderr(), levelOf(!o.quiet)), Told: o.quiet, Trusted: trusted, StopItems: func() bool { return o.stopItems }, NoDevices: o.noDevices,
	})
}

// stateOwner is who may own the folder above a worker's: where supervisor and worker are two services, root's worker has
// its folder in the state folder of the supervisor's user, from whom it takes all orders anyway.
func stateOwner(worker string) []int {
	state, err := defaultState()
	if err != nil || filepath.Dir(worker) != state {
		return nil
	}
	info, err := os.Lstat(state)
	if err != nil {
		return nil
	}
	return []int{int(info.Sys().(*syscall.Stat_t).Uid)}
}

// settleWorker finds what was not set: the state folder, the supervisor and the token of a farm that
// runs on this host.
func settleWorker(c *config.Config, supervisor string, joins bool) error {
	keys := &c.WorkerKeys
	state, err := defaultState()
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
		keys.Supervisor = addressesOf(supervisor)
	case len(keys.Supervisor) == 0:
		keys.Supervisor = joined
	}
	if len(joined) > 0 || joins {
		return nil // its token lies in the state folder
	}
	farm, name, err := readFarmFile()
	if err != nil && (len(keys.Supervisor) == 0 || keys.TokenFile == "") {
		return err
	}
	if err == nil && farm != nil {
		if len(keys.Supervisor) == 0 {
			keys.Supervisor = []string{farm.URL}
		}
		list, own := bySocket(strings.Join(keys.Supervisor, ","), farm), bySocket(farm.URL, farm)
		keys.Supervisor = addressesOf(list)
		if keys.TokenFile == "" && farm.TokenFile != "" && meantFor(list, own) {
			keys.TokenFile = filepath.Join(filepath.Dir(farm.TokenFile), "worker.token")
		}
	}
	if len(keys.Supervisor) == 0 {
		return api.Errorf(api.KindUnavailable, "no farm found: worker_supervisor is not set and there is no %s", name)
	}
	if keys.TokenFile == "" {
		return api.Errorf(api.KindUsage, "no token: worker_token_file is not set and there is no %s; name the worker.token that the supervisor keeps beside its admin token, "+
			"or a file with what qbadmin token create -role worker printed", name)
	}
	return nil
}
