package offline

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
func (d *Database) Restore(ctx context.Context, file string, o postgres.RestoreOptions) (postgres.Restored, error) {
	r, err := postgres.PrepareRestore(ctx, d.url, o)
	if err != nil {
		return postgres.Restored{}, fmt.Errorf("restore: %w", err)
	}
	defer r.Close()
	if err := d.replay(ctx, file, r); err != nil {
		return postgres.Restored{}, fmt.Errorf("restore: nothing was changed: %w", err)
	}
	done, err := r.Finish(ctx)
	if err != nil {
		return postgres.Restored{}, fmt.Errorf("restore: the rows are there, but: %w; start the farm and look at qb audit", err)
	}
	return done, nil
}

// replay has psql make one transaction of what is before the dump, the dump, and what is after it. Without the end the
// transaction is not committed.
func (d *Database) replay(ctx context.Context, file string, r *postgres.Restore) error {
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
	poured := pour(in, strings.NewReader(r.Prologue()), sql, readerFunc(func() (string, error) {
		readErr = failure("pg_restore", read.Wait(), &readText)
		return r.Epilogue(), readErr // after an error there is no end, and psql rolls back
	}))
	if poured != nil && readErr == nil {
		cancel() // psql has given up: pg_restore must not wait for it
		_ = read.Wait()
	}
	writeErr := failure("psql", write.Wait(), &writeText)
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

// pour writes the parts to out, one after the other, and closes it.
func pour(out io.WriteCloser, parts ...io.Reader) error {
	_, err := io.Copy(out, io.MultiReader(parts...))
	return errors.Join(err, out.Close())
}
