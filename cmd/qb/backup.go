package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/supervisor/pgcluster"
	"qb/supervisor/store"
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
		Use: "backup FILE", Short: "Back up the database to a file", Args: wantArgs(1, 1, "name the FILE to write"),
		Long: "Write a consistent backup of the farm's database to FILE, with pg_dump. The farm may run meanwhile. FILE has\n" +
			"mode 0600 and appears when it is complete; an existing file is replaced. The backup contains neither the\n" +
			"items' output nor the farm's key (supervisor_key_file): keep a copy of the key elsewhere.",
		Example: "  qb backup /backups/qb.dump",
		RunE:    func(cmd *cobra.Command, args []string) error { return o.backup(cmd, args[0]) },
	}
	cmd.Flags().StringVar(&o.state, "state", "", "`DIR` with the farm's state (default: supervisor_state, then QB_STATE)")
	return cmd
}

// place is the database of a farm, wherever that runs.
type place struct {
	conf  *loaded
	url   string
	major int
	close func()
}

// findPlace finds the database: database_url, else the private one, which is started if no farm runs it.
func (o *dumpOptions) findPlace(ctx context.Context, cmd *cobra.Command) (*place, error) {
	conf, err := serviceConfig(cmd, o.state, "")
	if err != nil {
		return nil, err
	}
	p := &place{conf: conf, url: conf.DatabaseURL, close: func() {}}
	if p.url == "" {
		if err := p.private(ctx, cmd); err != nil {
			return nil, err
		}
	}
	if p.major, err = store.Major(ctx, p.url); err != nil {
		p.close()
		return nil, api.Errorf(api.KindUnavailable, "%v", err)
	}
	return p, nil
}

// private takes the private Postgres of the farm that runs, or starts it.
func (p *place) private(ctx context.Context, cmd *cobra.Command) error {
	state := p.conf.supervisorKeys.State
	if err := p.conf.makeState(); err != nil {
		return err
	}
	release, err := pgcluster.Lock(state)
	if err != nil {
		farm, readErr := readFarmFileAt(p.conf.farmFileName())
		if readErr != nil || farm.DatabaseURL == "" {
			return err
		}
		p.url = farm.DatabaseURL
		return nil
	}
	cluster, err := pgcluster.Start(ctx, pgcluster.Config{State: state, BinDir: p.conf.DatabaseBinDir, Log: newLog(cmd.ErrOrStderr())})
	if err != nil {
		release()
		return err
	}
	p.url = cluster.URL()
	p.close = func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopSlack)
		defer cancel()
		if err := cluster.Stop(ctx); err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "qb: stopping Postgres:", err)
		}
		release()
	}
	return nil
}

// program makes a command of Postgres's that reaches the database by its environment alone.
func (p *place) program(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	path, err := pgcluster.Program(ctx, p.conf.DatabaseBinDir, name, p.major)
	if err != nil {
		return nil, codedError{err, 3}
	}
	env, err := store.ClientEnv(p.url)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	for _, pair := range os.Environ() { // PGOPTIONS and the like are meant for other databases
		if !strings.HasPrefix(pair, "PG") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	return cmd, nil
}

// said makes an error of what a program wrote.
func said(name string, err error, text *bytes.Buffer) error {
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	return fmt.Errorf("%s: %w: %s", name, err, strings.Join(lines[max(0, len(lines)-5):], "; "))
}

func (o *dumpOptions) backup(cmd *cobra.Command, file string) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), dumpLimit)
	defer cancel()
	p, err := o.findPlace(ctx, cmd)
	if err != nil {
		return err
	}
	defer p.close()
	size, err := p.dump(ctx, file)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s, %d bytes; the farm's key is not in it: keep a copy of %s elsewhere\n", file, size, p.conf.KeyFile)
	return err
}

// dump writes beside the file and renames: there is never a part of a backup under its name.
func (p *place) dump(ctx context.Context, file string) (size int64, err error) {
	out, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*") // mode 0600
	if err != nil {
		return 0, err
	}
	defer func() {
		err = errors.Join(err, out.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(out.Name()))
		}
	}()
	dump, err := p.program(ctx, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--no-password")
	if err != nil {
		return 0, err
	}
	var text bytes.Buffer
	dump.Stdout, dump.Stderr = out, &text
	if err := said("pg_dump", dump.Run(), &text); err != nil {
		return 0, err
	}
	info, err := out.Stat()
	if err == nil {
		err = out.Sync()
	}
	if err == nil {
		err = os.Rename(out.Name(), file)
	}
	if err == nil {
		err = syncDir(filepath.Dir(file))
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// pour writes the parts to out, one after the other, and closes it.
func pour(out io.WriteCloser, parts ...io.Reader) error {
	_, err := io.Copy(out, io.MultiReader(parts...))
	return errors.Join(err, out.Close())
}
