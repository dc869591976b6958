package service

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"qb/statedir"
	"qb/supervisor/credentials"
	"qb/supervisor/store"
	"qb/supervisor/store/postgres"
)

// Files which report that this supervisor has seen its farm's tokens with MACs of their secrets, and with seals, by the farm's
// key. They lie outside of the database: whoever can write there could put the schema back, and with it tokens without.
const (
	secretsSealed = "tokens.sealed"
	rowsSealed    = "tokens.rows-sealed"
)

// sealer converts the tokens of an earlier qb, once; what has been converted has nil after that.
func (c *service) sealer() (postgres.Seals, error) {
	seals := credentials.Seals(c.key)
	for name, seal := range map[string]*func(store.Token) []byte{secretsSealed: &seals.Secret, rowsSealed: &seals.Row} {
		_, err := os.Lstat(filepath.Join(c.SupervisorKeys.State, name))
		if err == nil {
			*seal = nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return postgres.Seals{}, fmt.Errorf("looking whether the tokens are sealed: %w", err)
		}
	}
	return seals, nil
}

// noteSealed writes the files when the tokens are sealed.
func (c *service) noteSealed() error {
	for _, name := range []string{secretsSealed, rowsSealed} {
		f, err := statedir.OpenFile(filepath.Join(c.SupervisorKeys.State, name), os.O_WRONLY|os.O_CREATE, 0o600)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return fmt.Errorf("noting that the tokens are sealed: %w", err)
		}
	}
	return nil
}
