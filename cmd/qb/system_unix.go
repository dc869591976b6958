//go:build unix

package main

import (
	"errors"

	"golang.org/x/sys/unix"
)

// currentUmask reads the umask; the kernel has no call that only reads it.
func currentUmask() int {
	mask := unix.Umask(0o077)
	unix.Umask(mask)
	return mask
}

// pipeClosed says that a write failed because no one reads the pipe any more.
func pipeClosed(err error) bool { return errors.Is(err, unix.EPIPE) }
