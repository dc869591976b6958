package statedir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// pipeWait is how long a pipe that a person has named may have nothing to read.
const pipeWait = 10 * time.Second

// OpenNamed opens a file that a person has named, for reading. It fails for a pipe without a writer.
func OpenNamed(name string) (*os.File, error) { return openNamed(name, pipeWait) }

func openNamed(name string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		err = awaitData(f, wait)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// mostNamed is how large a file can be that ReadNamed reads, such as one of tokens or settings.
const mostNamed = 4 << 20

// ReadNamed reads a small file that a person has named.
func ReadNamed(name string) ([]byte, error) { return readNamed(name, pipeWait) }

func readNamed(name string, wait time.Duration) ([]byte, error) {
	f, err := openNamed(name, wait)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostNamed+1))
	if err == nil && len(data) > mostNamed {
		err = fmt.Errorf("%s is larger than %d MiB", name, mostNamed>>20)
	}
	return data, err
}

// ReadRegular reads a small file that a setting names, and that is read again while the program runs. It refuses a
// pipe, a device and a folder at once: a service that is asked for the file must not wait for it.
func ReadRegular(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is %s; name a regular file", name, kindOf(info.Mode()))
	}
	if err == nil && info.Size() > mostNamed {
		err = fmt.Errorf("%s is larger than %d MiB", name, mostNamed>>20)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, mostNamed))
}

// kindOf is what a name that is no regular file's names.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a socket"
}

// WriteNamed writes a file that a person has named: an ordinary one is replaced, as by ReplaceWith, also behind a
// symbolic link; a pipe or a device is written into. It fails for a pipe that no program reads.
func WriteNamed(name string, mode fs.FileMode, data []byte) error {
	return writeNamed(name, mode, data, pipeWait)
}

func writeNamed(name string, mode fs.FileMode, data []byte, wait time.Duration) error {
	info, err := os.Stat(name)
	if err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice) != 0 {
		return writeInto(name, data, wait)
	}
	if target, linked := filepath.EvalSymlinks(name); err == nil && linked == nil && info.Mode().IsRegular() {
		name = target
	}
	return ReplaceWith(name, mode, data)
}
