package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func (c *loaded) farmFileName() string { return filepath.Join(c.supervisorKeys.State, "farm.json") }

// writeFarmFile replaces farm.json by rename. Others of this machine may read where the farm is, unless
// the address of its database may hold a password.
func (c *loaded) writeFarmFile(farm farmFile) error {
	data, err := encodeJSON(farm)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if c.DatabaseURL != "" {
		mode = 0o600
	}
	name := c.farmFileName()
	f, err := os.CreateTemp(filepath.Dir(name), ".farm-*.json")
	if err != nil {
		return fmt.Errorf("writing farm.json: %w", err)
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing farm.json: %w", err), os.Remove(f.Name()))
	}
	return nil
}

// removeFarmFile lets no client send its token to whoever takes the address next.
func (c *loaded) removeFarmFile() error {
	if err := os.Remove(c.farmFileName()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing farm.json: %w", err)
	}
	return nil
}
