package main

import (
	"errors"

	"golang.org/x/sys/windows"
)

// currentUmask is what most accounts of Linux have: Windows has no umask, and the items run on Linux hosts.
func currentUmask() int { return 0o022 }

// pipeClosed says that a write failed because no one reads the pipe any more.
func pipeClosed(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
