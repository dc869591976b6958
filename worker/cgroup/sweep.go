package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"qb/worker/proc"
)

// SweepAfter is how old a group without a holder is before it is taken away: its shim may be about to start.
const SweepAfter = time.Minute

// Hold marks the group as in use, for as long as this process lives.
func (c Group) Hold() {
	if c.Kind == "" {
		return
	}
	if fd, err := unix.Open(c.Folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
		unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB)
	}
}

// Sweep removes empty groups of instances whose shims are gone, of whatever worker: those of one whose state folder
// was removed have no other user. The kernel removes none that has a process.
func Sweep(kinds []string) (removed int) {
	for _, kind := range append([]string{Memory, Pids}, kinds...) {
		for _, home := range homes(kind) {
			names, _ := proc.Names(home)
			for _, name := range names {
				if strings.HasPrefix(name, groupPrefix) && abandoned(filepath.Join(home, name)) &&
					unix.Rmdir(filepath.Join(home, name)) == nil {
					removed++
				}
			}
		}
	}
	return removed
}

func abandoned(folder string) bool {
	info, err := os.Lstat(folder)
	if err != nil || time.Since(info.ModTime()) < SweepAfter {
		return false
	}
	fd, err := unix.Open(folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil
}
