package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/supervisor/store/postgres"
)

func newRestoreCommand() *cobra.Command {
	var o dumpOptions
	var older bool
	var newer string
	cmd := &cobra.Command{
		Use: "restore [FILE]", Short: "Replace the database with a backup",
		Args: commandline.WantArgs(0, 1, "name the FILE that qb backup wrote"),
		Long: "Replace all rows of the farm's database, in one transaction, with those of FILE, written by qb backup\n" +
			"(or pg_dump -Fc). Stop the farm first; with -force the leader's term is ended instead.\n" +
			"The next term has a higher number than every earlier one, so that hosts obey it. It waits for reports of\n" +
			"all hosts before it starts items. New jobs and attempts get numbers above all known ones.\n" +
			"With -accept-older and no FILE, take the rows of a server in whose place a replica was promoted (docs/operations.md, Replicas).",
		Example: "  qb restore /backups/qb.dump\n  qb restore -accept-older",
		RunE: func(cmd *cobra.Command, args []string) error {
			if older && len(args) == 0 {
				return o.acceptOlder(cmd, newer)
			} else if older || len(args) == 0 {
				return api.Errorf(api.KindUsage, "name the FILE that qb backup wrote, or give -accept-older without one")
			}
			return o.restore(cmd, args[0])
		},
	}
	cmd.Flags().BoolVar(&older, "accept-older", false,
		"count what would be lost with the rows of a server that a promoted replica has replaced; with -force, use its rows")
	cmd.Flags().StringVar(&newer, "newer", "", "with -accept-older: `URL` of the newer server, if it answers, to count what it has")
	cmd.Flags().StringVar(&o.state, "state", "", "`DIR` with the farm's state (default: supervisor_state, then QB_STATE)")
	cmd.Flags().BoolVar(&o.force, "force", false, "restore even if a supervisor leads; its term ends")
	cmd.Flags().BoolVar(&o.newKey, "newkey", false,
		"use the key in supervisor_key_file although the backup was made under another one, which is lost")
	return cmd
}

func (o *dumpOptions) restore(cmd *cobra.Command, file string) error {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("restore: %s is not a readable backup: %w", file, errors.Join(err, os.ErrInvalid))
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), dumpLimit)
	defer cancel()
	p, err := o.findFarm(ctx, cmd)
	if err != nil {
		return err
	}
	defer p.close()
	made, err := p.conf.loadKey(newLog(cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	newKey := o.newKey || made
	options := postgres.RestoreOptions{Farm: p.conf.key.Public(), NewKey: newKey, Force: o.force}
	done, err := p.farmDatabase.Restore(ctx, file, options)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "restored %s: %d jobs, %d attempts; the next term is %d\n", file, done.Jobs,
		done.Attempts, done.Epoch+1)
	fmt.Fprint(cmd.OutOrStdout(),
		"Start the farm. It waits for reports of all known hosts, for 10 s or a little longer, before it starts items.\n"+
			"Items that began after the backup are stopped and run again; what was submitted since then is gone.\n"+
			"New jobs and attempts are numbered above all that hosts and logs know, by 1000 at least.\n")
	if newKey {
		return o.announceNewKey(cmd, p)
	}
	return nil
}

// acceptOlder counts what is given up, and takes the older rows if that is confirmed.
func (o *dumpOptions) acceptOlder(cmd *cobra.Command, newer string) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), dumpLimit)
	defer cancel()
	p, err := o.findFarm(ctx, cmd)
	if err != nil {
		return err
	}
	defer p.close()
	older, err := p.AcceptOlder(ctx, newer, o.force)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	out := cmd.OutOrStdout()
	hosts := "no host has reported a newer one"
	if older.Newer > 0 {
		hosts = fmt.Sprintf("hosts obey timeline %d", older.Newer)
	}
	fmt.Fprintf(out, "This server is on timeline %d, %s. It has %d jobs and %d attempts, and was last led at %s.\n",
		older.Timeline, hosts, older.Jobs, older.Attempts, older.Led.UTC().Format(time.RFC3339))
	if g := older.GivenUp; g != nil {
		fmt.Fprintf(out, "Lost: %d jobs submitted, %d attempts begun and %d ended after that.\n", g.Jobs, g.Begun, g.Ended)
	} else {
		fmt.Fprint(out, "Lost: all that was acknowledged after that. -newer URL counts it, if the newer server answers.\n")
	}
	if !o.force {
		fmt.Fprint(out, "Nothing was changed. To use these rows, remove the newer server from database_url, stop all supervisors, and add -force.\n")
		return nil
	}
	fmt.Fprint(out, "The farm uses these rows now. Start it: hosts change to this database after the supervisor has received their reports.\n")
	return nil
}

// announceNewKey prints what a new key invalidates. The farm's own workers join again by themselves.
func (o *dumpOptions) announceNewKey(cmd *cobra.Command, p *farmLocation) error {
	own, err := filepath.Glob(filepath.Join(p.conf.SupervisorKeys.State, "workers", "*", "term"))
	for _, file := range own {
		err = errors.Join(err, os.Remove(file))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "The farm has a new key, %s. Copy it to the farm's other supervisors.\n"+
		"Tokens that were made under the old key end; the next start makes a new admin token.\n"+
		"Each other host obeys the old key only: stop its worker, remove the file \"term\" in its worker_state, give it a new\n"+
		"token (qbadmin token create -role worker), and start it again.\n", p.conf.KeyFile)
	return err
}
