package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"qb/api"
	"qb/cmd/qb/find"
	"qb/cmd/qb/output"
	"qb/internal/pause"
	"qb/internal/statedir"
)

// publishEvery is the time between two tries to write farm.json.
const publishEvery = 5 * time.Second

// maxSocketPath is the longest path of a socket that the kernel takes.
const maxSocketPath = 107

// defaultSocket is where local users and workers meet the supervisor: in a folder that they may enter and only the
// service may write. That is /run/qb for the machine's farm, $XDG_RUNTIME_DIR/qb for a user's own, else the state
// folder; "" if no path is short enough.
func defaultSocket(state string) string {
	for _, dir := range []string{runFolder(state), state} {
		if socket := filepath.Join(dir, "qb.sock"); dir != "" && len(socket) <= maxSocketPath {
			return socket
		}
	}
	return ""
}

// runFolder is the folder for the socket of the farm with that state folder, "" if there is none to be had.
func runFolder(state string) string {
	if state == find.SystemState {
		if ours(api.RunFolder) || os.Geteuid() == 0 && missing(api.RunFolder) {
			return api.RunFolder
		}
		return ""
	}
	dir := os.Getenv("XDG_RUNTIME_DIR")
	usual, err := find.DefaultState()
	if os.Getenv("QB_STATE") != "" || err != nil || state != usual || !filepath.IsAbs(dir) || !ours(dir) {
		return ""
	}
	if dir = filepath.Join(dir, "qb"); ours(dir) || missing(dir) {
		return dir
	}
	return ""
}

// ours says whether a folder is this account's, and no other user may write it.
func ours(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid() &&
		info.Mode().Perm()&0o022 == 0
}

func missing(name string) bool {
	_, err := os.Lstat(name)
	return errors.Is(err, fs.ErrNotExist)
}

// makeRunFolder makes the folder of the socket where that is none that exists already: users may enter it, and only the
// service may write it.
func (c *service) makeRunFolder() error {
	dir := filepath.Dir(c.Socket)
	if c.Socket == "" || dir != runFolder(c.SupervisorKeys.State) || ours(dir) {
		return nil
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of supervisor_socket: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // whatever the umask
		return fmt.Errorf("making the folder of supervisor_socket: %w", err)
	}
	return nil
}

func (c *service) farmFileName() string { return filepath.Join(c.SupervisorKeys.State, find.FarmJSON) }

// shownFileName is the file beside the socket by which all users find it, "" if the socket lies in the state folder.
func (c *service) shownFileName() string {
	if dir := filepath.Dir(c.Socket); c.Socket != "" && dir == runFolder(c.SupervisorKeys.State) {
		return filepath.Join(dir, find.FarmJSON)
	}
	return ""
}

// readFarmFileAt reads a farm.json that this user may read.
func readFarmFileAt(name string) (farm find.Farm, err error) {
	data, err := statedir.ReadNamed(name)
	if err == nil {
		err = json.Unmarshal(data, &farm)
	}
	return farm, err
}

// writeFarmFile replaces farm.json by rename. Others of this machine may read where the farm is, unless
// the address of its database may hold a password.
func (c *service) writeFarmFile(farm find.Farm) error {
	mode := fs.FileMode(0o644)
	if c.DatabaseURL != "" {
		mode = 0o600
	}
	if err := replaceJSON(c.farmFileName(), mode, farm); err != nil {
		return err
	}
	if shown := c.shownFileName(); shown != "" {
		return replaceJSON(shown, 0o644, find.Farm{URL: farm.URL, Socket: farm.Socket})
	}
	return nil
}

func replaceJSON(name string, mode fs.FileMode, farm find.Farm) error {
	data, err := output.EncodeJSON(farm)
	if err != nil {
		return err
	}
	if err := statedir.ReplaceReserved(name, mode, append(data, '\n')); err != nil {
		return fmt.Errorf("writing farm.json: %w", err)
	}
	return nil
}

// publish writes farm.json beside a supervisor that leads. The farm does not need it, only commands that are to find
// the farm by it do: if it cannot be written, publish warns and goes on trying until stop is called.
func (c *service) publish(farm find.Farm, log *slog.Logger) (stop func()) {
	err := c.writeFarmFile(farm)
	if err == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	log.Warn("commands on this machine cannot find the farm by farm.json; will retry", "error", err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pause.For(ctx, publishEvery) == nil {
			if c.writeFarmFile(farm) == nil {
				log.Info("farm.json is written", "file", c.farmFileName())
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// removeFarmFile lets clients say at once that there is no farm.
func (c *service) removeFarmFile() error {
	for _, name := range []string{c.farmFileName(), c.shownFileName()} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing farm.json: %w", err)
		}
	}
	return nil
}
