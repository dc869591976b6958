//go:build unix

package statedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// spareBlocks is how much is reserved for a small file: a block of the usual file systems.
const spareBlocks = 4 << 10

// Full is whether an error says that a disk, or what an account may use of it, is used up.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// ReplaceReserved replaces a small file, as Replace does. A file beside it, with the suffix .spare, reserves the
// blocks for the next time: on a full disk it becomes the file.
func ReplaceReserved(path string, mode fs.FileMode, data []byte) error {
	spare := path + ".spare"
	err := ReplaceWith(path, mode, data)
	if Full(err) && len(data) <= spareBlocks {
		if useSpare(spare, path, mode, data) == nil {
			return nil
		}
	}
	if err != nil {
		return err
	}
	if _, err := os.Lstat(spare); errors.Is(err, fs.ErrNotExist) {
		_ = ReplaceWith(spare, 0o600, make([]byte, spareBlocks)) // without room now there is none to reserve
	}
	return nil
}

// useSpare writes into the reserved blocks, then gives the file its name.
func useSpare(spare, path string, mode fs.FileMode, data []byte) error {
	f, err := OpenFile(spare, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err = errors.Join(err, f.Truncate(int64(len(data))), f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(spare, path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}
