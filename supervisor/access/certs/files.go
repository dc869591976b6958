package certs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"qb/internal/statedir"
)

const maxFile = 256 << 10

// readPrivate reads a file that this user owns and other users cannot read. The stamp changes when the file is
// replaced.
func readPrivate(name string) (text []byte, stamp string, err error) {
	f, err := statedir.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, "", fmt.Errorf(
			"%s: its mode is %04o, so others may have read it; chmod 600 it, or replace the key with qb ca rotate -overlap 0 if they have",
			name, info.Mode().Perm())
	}
	text, err = io.ReadAll(io.LimitReader(f, maxFile))
	return text, stampOfInfo(info), err
}

func stampOf(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return err.Error()
	}
	return stampOfInfo(info)
}

func stampOfInfo(info os.FileInfo) string {
	inode := uint64(0)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = st.Ino
	}
	return fmt.Sprint(inode, info.ModTime().UnixNano(), info.Size())
}

func replaceFile(name string, text []byte) error {
	if err := statedir.ReplaceWith(name, 0o600, text); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// lockFolder keeps other processes from making or changing the CA meanwhile.
func lockFolder(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", dir, err), f.Close())
	}
	return func() { _ = f.Close() }, nil // which unlocks
}
