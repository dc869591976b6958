package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"qb/supervisor/store/postgres"
)

// Restore replaces all rows of the database with those of a dump.
func (d *farmDatabase) Restore(ctx context.Context, file string, o postgres.RestoreOptions) (postgres.Restored, error) {
	r, err := postgres.PrepareRestore(ctx, d.server, o)
	if err != nil {
		return postgres.Restored{}, fmt.Errorf("restore: %w", err)
	}
	defer r.Close()
	if err := d.replay(ctx, file, r); err != nil {
		return postgres.Restored{}, fmt.Errorf("restore: nothing was changed: %w", err)
	}
	done, err := r.Finish(ctx)
	if err != nil {
		return postgres.Restored{}, fmt.Errorf("restore: the rows are there, but: %w; start the farm and look at qb audit",
			err)
	}
	return done, nil
}

// AcceptOlder counts what is given up with the rows of a server from which the farm has moved on, and takes them.
func (d *farmDatabase) AcceptOlder(ctx context.Context, newer string, take bool) (postgres.Older, error) {
	return postgres.AcceptOlder(ctx, d.url, newer, take)
}

// replay has psql make one transaction of what is before the dump, the dump, and what is after it. Without the end the
// transaction is not committed.
func (d *farmDatabase) replay(ctx context.Context, file string, r *postgres.Restore) error {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	read, err := d.program(reading, "pg_restore", "--file=-", "--no-owner", "--no-privileges", file)
	if err != nil {
		return err
	}
	write, err := d.program(ctx, "psql", "--no-psqlrc", "--quiet", "--no-password", "--output=/dev/null", "--file=-")
	if err != nil {
		return err
	}
	var readText, writeText bytes.Buffer
	read.Stderr, write.Stderr = &readText, &writeText
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
	if _, err := io.Copy(in, io.MultiReader(strings.NewReader(r.Prologue()), sql)); err != nil {
		cancel() // psql has given up, and says why: pg_restore must not wait for it
		_ = read.Wait()
	} else if readErr = failure("pg_restore", read.Wait(), &readText); readErr == nil {
		// else there is no end, and psql rolls back
		_, _ = io.WriteString(in, r.Epilogue()) // psql says why it does not take it
	}
	in.Close()
	writeErr := failure("psql", write.Wait(), &writeText)
	return errors.Join(readErr, writeErr)
}
