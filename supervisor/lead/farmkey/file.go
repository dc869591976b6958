package farmkey

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"qb/internal/statedir"
)

const maxFile = 4 << 10

// Load reads the key from the file, or makes a key and the file if there is none. The file must be a regular file,
// owned by this process's user and unreadable for others. Made reports whether it was made now.
func Load(path string) (key Key, made bool, err error) {
	if key, err = read(path); !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	key = New()
	if err = create(path, key); errors.Is(err, fs.ErrExist) {
		key, err = read(path) // another supervisor on this machine was faster
		return key, false, err
	}
	return key, err == nil, err
}

func read(path string) (Key, error) {
	// O_NONBLOCK: the open of a FIFO would wait for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return Key{}, fmt.Errorf("reading the farm key %s: it is a symbolic link; set supervisor_key_file to the file itself",
			path)
	}
	if err != nil {
		return Key{}, fmt.Errorf("reading the farm key: %w", err)
	}
	defer f.Close()
	if err := private(f); err != nil {
		return Key{}, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return Key{}, fmt.Errorf("reading the farm key: %w", err)
	}
	key, err := parse(string(text))
	if err != nil {
		return Key{}, fmt.Errorf("reading the farm key %s: %w; copy the file from another supervisor of the farm", path, err)
	}
	return key, nil
}

// private checks the open file, not its name, so that the file cannot be exchanged in between.
func private(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("reading the farm key: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("reading the farm key %s: it is no regular file; move it away", f.Name())
	case !ok || int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("reading the farm key %s: it belongs to another user than the supervisor, uid %d; chown %d %[1]s",
			f.Name(), os.Geteuid(), os.Geteuid())
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf(
			"reading the farm key %s: its mode is %04o, so others may have read it; chmod 600 %[1]s, or replace the key if they have",
			f.Name(), info.Mode().Perm())
	}
	return nil
}

// create writes the whole file under a temporary name and then links it to its own: there is never a key file
// with a part of a key, and an existing one is never replaced.
func create(path string, key Key) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".farm.key-*") // made with O_EXCL and mode 0600
	if err != nil {
		return fmt.Errorf("making the farm key: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(key.text())
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Link(f.Name(), path)
	}
	if err == nil {
		err = statedir.SyncFolder(dir)
	}
	if err != nil {
		return fmt.Errorf("making the farm key: %w", err)
	}
	return nil
}
