package service

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"qb/api"
	"qb/internal/statedir"
	"qb/supervisor/store/pgcluster"
	"qb/supervisor/store/postgres"
)

// farmDatabase is a database that the client programs of Postgres reach.
type farmDatabase struct {
	url    string
	binDir string // of the programs; empty: found
	server postgres.Server
}

// openDatabase finds the server with the farm's rows and its version, for which the programs must fit.
func openDatabase(ctx context.Context, url, binDir string) (*farmDatabase, error) {
	server, err := postgres.FindServer(ctx, url)
	if err != nil {
		return nil, api.Errorf(api.KindUnavailable, "%v", err)
	}
	return &farmDatabase{url: url, binDir: binDir, server: server}, nil
}

// program makes a command of Postgres's that reaches the database by its environment alone.
func (d *farmDatabase) program(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	path, err := pgcluster.Program(ctx, d.binDir, name, d.server.Major)
	if err != nil {
		return nil, api.Errorf(api.KindUnavailable, "%v", err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	// PGOPTIONS and the like are meant for other databases
	foreign := func(pair string) bool { return strings.HasPrefix(pair, "PG") }
	cmd.Env = append(slices.DeleteFunc(os.Environ(), foreign), d.server.ClientEnv()...)
	return cmd, nil
}

// failure makes an error of what a program wrote.
func failure(name string, err error, text *bytes.Buffer) error {
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	return fmt.Errorf("%s: %w: %s", name, err, strings.Join(lines[max(0, len(lines)-5):], "; "))
}

// Dump writes a backup: there is never a part of one under its name.
func (d *farmDatabase) Dump(ctx context.Context, file string) (size int64, err error) {
	command, err := d.program(ctx, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--no-password")
	if err != nil {
		return 0, err
	}
	err = statedir.Replace(file, 0o600, func(out *os.File) error {
		var text bytes.Buffer
		command.Stdout, command.Stderr = out, &text
		if err := failure("pg_dump", command.Run(), &text); err != nil {
			return err
		}
		info, err := out.Stat()
		if err == nil {
			size = info.Size()
		}
		return err
	})
	return size, err
}
