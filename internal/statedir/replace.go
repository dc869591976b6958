package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace replaces a file by what write writes, with that mode and synced to disk: under its name there is never a part
// of it. write gets a new file in the same folder, which is closed to others if the mode leaves them out.
func Replace(path string, mode fs.FileMode, write func(*os.File) error) error {
	// A rename would put the file in the place of a pipe or a device.
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("%s is %s; name a file", path, kindOf(info.Mode()))
	}
	f, err := createTemp(filepath.Dir(path), "."+filepath.Base(path)+"-", mode)
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncFolder(filepath.Dir(path))
}

// ReplaceWith replaces a file by data, as Replace does.
func ReplaceWith(path string, mode fs.FileMode, data []byte) error {
	return Replace(path, mode, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}
