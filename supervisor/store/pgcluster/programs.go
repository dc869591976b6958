package pgcluster

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Program finds one of Postgres's client programs (pg_dump, pg_restore, psql) for a server of a version: of the same
// version where it is installed, for an older pg_dump refuses and a newer pg_restore may write what the server
// does not know. Configured, if not empty, is the folder to look in.
func Program(ctx context.Context, configured, name string, major int) (string, error) {
	dirs := candidates(ctx, major)
	if configured != "" {
		dirs = []string{configured}
	}
	for _, dir := range dirs {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	if path, err := exec.LookPath(name); err == nil && configured == "" {
		return path, nil
	}
	return "", fmt.Errorf(
		"no program %s found: install postgresql-client-%d, or name the folder of Postgres's programs as database_bindir",
		name, major)
}
