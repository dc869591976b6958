package service

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"qb/cmd/qb/commandline"
	"qb/supervisor/store/pgcluster"
)

// dumpLimit bounds a backup and a restore.
const dumpLimit = 12 * time.Hour

// dumpOptions are of qb backup and qb restore.
type dumpOptions struct {
	state         string
	force, newKey bool
}

func newBackupCommand() *cobra.Command {
	var o dumpOptions
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Back up the database to a file",
		Args: commandline.WantArgs(1, 1, "name the FILE to write"),
		Long: "Write a consistent backup of the farm's database to FILE, with pg_dump. The farm may run meanwhile. FILE has\n" +
			"mode 0600 and appears when it is complete; an existing file is replaced. The backup contains neither the\n" +
			"items' output nor the farm's key (supervisor_key_file): keep a copy of the key elsewhere.",
		Example: "  qb backup /backups/qb.dump",
		RunE:    func(cmd *cobra.Command, args []string) error { return o.backup(cmd, args[0]) },
	}
	cmd.Flags().StringVar(&o.state, "state", "", "`DIR` with the farm's state (default: supervisor_state, then QB_STATE)")
	return cmd
}

// farmLocation is the database of a farm, wherever that runs.
type farmLocation struct {
	*farmDatabase
	conf  *service
	close func()
}

// findFarm finds the database: database_url, else the private one, which is started if no farm runs it.
func (o *dumpOptions) findFarm(ctx context.Context, cmd *cobra.Command) (*farmLocation, error) {
	conf, err := serviceConfig(cmd, o.state, "")
	if err != nil {
		return nil, err
	}
	p, url := &farmLocation{conf: conf, close: func() {}}, conf.DatabaseURL
	if url == "" {
		if url, err = p.private(ctx, cmd); err != nil {
			return nil, err
		}
	}
	if p.farmDatabase, err = openDatabase(ctx, url, conf.DatabaseBinDir); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// private takes the private Postgres of the farm that runs, or starts it.
func (p *farmLocation) private(ctx context.Context, cmd *cobra.Command) (url string, err error) {
	state := p.conf.SupervisorKeys.State
	if err := p.conf.makeState(); err != nil {
		return "", err
	}
	release, err := pgcluster.Lock(state)
	if err != nil {
		farm, readErr := readFarmFileAt(p.conf.farmFileName())
		if readErr != nil || farm.DatabaseURL == "" {
			return "", err
		}
		return farm.DatabaseURL, nil
	}
	cluster, err := pgcluster.Start(ctx, pgcluster.Config{State: state, BinDir: p.conf.DatabaseBinDir,
		Log: newLog(cmd.ErrOrStderr())})
	if err != nil {
		release()
		return "", err
	}
	p.close = func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopSlack)
		defer cancel()
		if err := cluster.Stop(ctx); err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "qb: stopping Postgres:", err)
		}
		release()
	}
	return cluster.URL(), nil
}

func (o *dumpOptions) backup(cmd *cobra.Command, file string) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), dumpLimit)
	defer cancel()
	p, err := o.findFarm(ctx, cmd)
	if err != nil {
		return err
	}
	defer p.close()
	size, err := p.Dump(ctx, file)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(),
		"wrote %s, %d bytes; the farm's key is not in it: keep a copy of %s elsewhere\n", file, size, p.conf.KeyFile)
	return err
}
