package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"qb/statedir"
	"qb/supervisor"
	"qb/supervisor/store"
)

// sealedFile reports that this supervisor has seen its farm's tokens sealed with the farm's key. It lies outside of the
// database: whoever can write there could put the schema back, and with it tokens that only have a hash.
func (c *loaded) sealedFile() string { return filepath.Join(c.supervisorKeys.State, "tokens.sealed") }

// sealer converts the tokens of an earlier qb, once; nil after that.
func (c *loaded) sealer() (func(store.Token) []byte, error) {
	_, err := os.Lstat(c.sealedFile())
	if errors.Is(err, fs.ErrNotExist) {
		return supervisor.SealTokens(c.key), nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for %s: %w", c.sealedFile(), err)
	}
	return nil, nil
}

// noteSealed writes the file when the tokens are sealed.
func (c *loaded) noteSealed() error {
	f, err := statedir.OpenFile(c.sealedFile(), os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("noting that the tokens are sealed: %w", err)
	}
	return nil
}
