package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// MinMajor is the oldest Postgres that qb runs on.
const MinMajor = 15

// ErrNoBinaries says that no installed Postgres server was found, and the ways out.
var ErrNoBinaries = errors.New(`no Postgres server programs (initdb, postgres; version 15 or newer) found; one of:
  make deps                       (Debian, Ubuntu: apt-get install --no-install-recommends postgresql)
  brew install postgresql@17      (macOS), or name their folder as database_bindir in qb.conf
  database_url = "postgres://…"   in qb.conf, or QB_DATABASE_URL, for a server that already runs`)

// binaries are the two programs of one server version.
type binaries struct {
	dir   string
	major int
}

func (b binaries) path(program string) string { return filepath.Join(b.dir, program) }

// findBinaries looks where distributions put the server; configured, if not empty, is the only place. A cluster
// of version have (0: none yet) can only be served by that version.
func findBinaries(ctx context.Context, configured string, have int) (binaries, error) {
	if configured != "" {
		b, err := inspect(ctx, configured)
		if err != nil {
			return b, fmt.Errorf("database_bindir %s: %w", configured, err)
		}
		return b, nil
	}
	var best binaries
	for _, dir := range candidates(ctx, have) {
		b, err := inspect(ctx, dir)
		if err != nil || b.major < MinMajor {
			continue
		}
		if b.major == have {
			return b, nil
		}
		if best.dir == "" {
			best = b
		}
	}
	if best.dir == "" {
		return best, ErrNoBinaries
	}
	return best, nil
}

// candidates in the order of preference. Debian puts neither program on PATH.
func candidates(ctx context.Context, have int) []string {
	var dirs []string
	if have > 0 {
		dirs = append(dirs, fmt.Sprintf("/usr/lib/postgresql/%d/bin", have))
	}
	dirs = append(dirs, newestFirst("/usr/lib/postgresql/*/bin")...)
	dirs = append(dirs, newestFirst("/usr/pgsql-*/bin")...)
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	dirs = append(dirs, newestFirst("/opt/homebrew/opt/postgresql@*/bin")...)
	return append(dirs, newestFirst("/usr/local/opt/postgresql@*/bin")...)
}

func newestFirst(pattern string) []string {
	dirs, _ := filepath.Glob(pattern)
	slices.SortFunc(dirs, func(a, b string) int { return firstNumber(b) - firstNumber(a) })
	return dirs
}

// firstNumber is the first run of digits in s, 0 if there is none.
func firstNumber(s string) int {
	n, _ := strconv.Atoi(digits().FindString(s))
	return n
}

var digits = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9]+`)
})

// inspect asks the programs of a folder for their version.
func inspect(ctx context.Context, dir string) (binaries, error) {
	for _, program := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, program)); err != nil {
			return binaries{}, fmt.Errorf("no program %s there: %w", program, errors.Unwrap(err))
		}
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return binaries{}, fmt.Errorf("asking postgres for its version: %w", err)
	}
	b := binaries{dir: dir, major: firstNumber(string(out))}
	if b.major < MinMajor {
		return b, fmt.Errorf("the folder's Postgres is version %d, qb needs %d or newer", b.major, MinMajor)
	}
	return b, nil
}

// clusterMajor is the version that made the data folder; 0 if there is no cluster in it.
func clusterMajor(data string) (int, error) {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the version of the database cluster: %w", err)
	}
	major := firstNumber(string(text))
	if major == 0 {
		return 0, fmt.Errorf("%s/PG_VERSION holds %q, no version; restore the folder from a backup", data, text)
	}
	return major, nil
}
