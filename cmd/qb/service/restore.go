package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"qb/cmd/qb/commandline"
	"qb/supervisor/credentials"
	"qb/supervisor/store/postgres"
)

func newRestoreCommand() *cobra.Command {
	var o dumpOptions
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Replace the database with a backup", Args: commandline.WantArgs(1, 1, "name the FILE that qb backup wrote"),
		Long: "Replace all rows of the farm's database, in one transaction, with those of FILE, written by qb backup\n" +
			"(or pg_dump -Fc). Stop the farm first; with -force the leader's term is ended instead.\n" +
			"The next term has a higher number than every earlier one, so that hosts obey it. It waits for reports of\n" +
			"all hosts before it starts items. New jobs and attempts get numbers above all known ones.",
		Example: "  qb restore /backups/qb.dump",
		RunE:    func(cmd *cobra.Command, args []string) error { return o.restore(cmd, args[0]) },
	}
	cmd.Flags().StringVar(&o.state, "state", "", "`DIR` with the farm's state (default: supervisor_state, then QB_STATE)")
	cmd.Flags().BoolVar(&o.force, "force", false, "restore even if a supervisor leads; its term ends")
	cmd.Flags().BoolVar(&o.newKey, "newkey", false, "use the key in supervisor_key_file although the backup was made under another one, which is lost")
	return cmd
}

func (o *dumpOptions) restore(cmd *cobra.Command, file string) error {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("restore: %s is not a readable backup: %w", file, errors.Join(err, os.ErrInvalid))
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), dumpLimit)
	defer cancel()
	p, err := o.findPlace(ctx, cmd)
	if err != nil {
		return err
	}
	defer p.close()
	made, err := p.conf.loadKey(newLog(cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	newKey := o.newKey || made
	options := postgres.RestoreOptions{Farm: p.conf.key.Public(), Seals: credentials.Seals(p.conf.key), NewKey: newKey, Force: o.force}
	done, err := p.Database.Restore(ctx, file, options)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "restored %s: %d jobs, %d attempts; the next term is %d\n", file, done.Jobs, done.Attempts, done.Epoch+1)
	fmt.Fprint(cmd.OutOrStdout(), "Start the farm. It waits for reports of all known hosts, for 10 s or a little longer, before it starts items.\n"+
		"Items that began after the backup are stopped and run again; what was submitted since then is gone.\n"+
		"New jobs and attempts are numbered above all that hosts and logs know, by 1000 at least.\n")
	if newKey {
		return o.announceNewKey(cmd, p)
	}
	return nil
}

// announceNewKey prints what a new key invalidates. The farm's own workers join again by themselves.
func (o *dumpOptions) announceNewKey(cmd *cobra.Command, p *place) error {
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
