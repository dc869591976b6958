package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"qb/supervisor"
	"qb/supervisor/store"
)

func newRestoreCommand() *cobra.Command {
	var o dumpOptions
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Replace the database with a backup", Args: wantArgs(1, 1, "name the FILE that qb backup wrote"),
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
		return fmt.Errorf("restore: %s is no backup that can be read: %w", file, errors.Join(err, os.ErrInvalid))
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
	r, err := store.PrepareRestore(ctx, p.url, store.RestoreOptions{Farm: p.conf.key.Public(), Seals: supervisor.SealTokens(p.conf.key), NewKey: newKey, Force: o.force})
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer r.Close()
	if err := p.replay(ctx, file, r); err != nil {
		return fmt.Errorf("restore: nothing was changed: %w", err)
	}
	done, err := r.Finish(ctx)
	if err != nil {
		return fmt.Errorf("restore: the rows are there, but: %w; start the farm and look at qb audit", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "restored %s: %d jobs, %d attempts; the next term is %d\n", file, done.Jobs, done.Attempts, done.Epoch+1)
	fmt.Fprint(cmd.OutOrStdout(), "Start the farm. It listens to all known hosts, for 10 s or a little longer, before it gives anything out.\n"+
		"Items that began after the backup are stopped and run again; what was submitted since then is gone.\n"+
		"New jobs and attempts are numbered above all that hosts and logs know, by 1000 at least.\n")
	if newKey {
		return o.tellNewKey(cmd, p)
	}
	return nil
}

// replay has psql make one transaction of what is before the dump, the dump, and what is after it. Without the end the
// transaction is not committed.
func (p *place) replay(ctx context.Context, file string, r *store.Restore) error {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	read, err := p.program(reading, "pg_restore", "--file=-", "--no-owner", "--no-privileges", file)
	if err != nil {
		return err
	}
	write, err := p.program(ctx, "psql", "--no-psqlrc", "--quiet", "--no-password", "--output=/dev/null", "--file=-")
	if err != nil {
		return err
	}
	var readSaid, writeSaid bytes.Buffer
	read.Stderr, write.Stderr = &readSaid, &writeSaid
	sql, err := read.StdoutPipe()
	if err != nil {
		return err
	}
	in, err := write.StdinPipe()
	if err != nil {
		return err
	}
	if err := errors.Join(read.Start(), write.Start()); err != nil {
		return err
	}
	var readErr error
	poured := pour(in, strings.NewReader(r.Prologue()), sql, readerFunc(func() (string, error) {
		readErr = said("pg_restore", read.Wait(), &readSaid)
		return r.Epilogue(), readErr // after an error there is no end, and psql rolls back
	}))
	if poured != nil && readErr == nil {
		cancel() // psql has given up: pg_restore must not wait for it
		_ = read.Wait()
	}
	writeErr := said("psql", write.Wait(), &writeSaid)
	return errors.Join(readErr, writeErr)
}

// readerFunc yields, when it is its turn, a text or the error that keeps it back.
func readerFunc(f func() (string, error)) *lateReader { return &lateReader{make: f} }

type lateReader struct {
	make func() (string, error)
	text *strings.Reader
}

// Read asks for the text at the first call.
func (l *lateReader) Read(p []byte) (int, error) {
	if l.text == nil {
		text, err := l.make()
		if err != nil {
			return 0, err
		}
		l.text = strings.NewReader(text)
	}
	return l.text.Read(p)
}

// tellNewKey says what a new key ends. The farm's own workers join again by themselves.
func (o *dumpOptions) tellNewKey(cmd *cobra.Command, p *place) error {
	own, err := filepath.Glob(filepath.Join(p.conf.supervisorKeys.State, "workers", "*", "term"))
	for _, file := range own {
		err = errors.Join(err, os.Remove(file))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "The farm has a new key, %s. Copy it to the farm's other supervisors.\n"+
		"Tokens that were made under the old key end; the next start makes a new admin token.\n"+
		"Each other host obeys the old key only: stop its worker, remove the file \"term\" in its worker_state, give it a new\n"+
		"token (qbadmin token create -role worker), and start it again.\n", p.conf.KeyFile)
	return err
}
