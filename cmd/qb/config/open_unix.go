//go:build unix

package config

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openIn opens a file in an open folder; that of the current folder is not to be a link.
func openIn(dir *os.File, name string) (*os.File, error) {
	flags := unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
	if name == hereFile {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Openat(int(dir.Fd()), filepath.Base(name), flags, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, errors.New("the file is a link")
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
