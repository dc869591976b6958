package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// openIn opens a file in an open folder; that of the current folder is not to be a link.
func openIn(dir *os.File, name string) (*os.File, error) {
	path := filepath.Join(dir.Name(), filepath.Base(name))
	if info, err := os.Lstat(path); err == nil && name == hereFile && info.Mode()&fs.ModeSymlink != 0 {
		return nil, errors.New("the file is a link")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err)
	}
	return f, nil
}
