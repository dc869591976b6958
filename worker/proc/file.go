package proc

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ReadFile reads a small file, such as one of /proc or of a control group. It makes system calls and nothing else: the
// kernel lets a program poll most of its own files, so package os would register each with the runtime's poller, which
// costs more than the file and wakes another thread.
func ReadFile(path string) ([]byte, error) {
	fd, err := open(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for data := make([]byte, 0, 1024); ; {
		n, err := unix.Read(fd, data[len(data):cap(data)])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return data, &os.PathError{Op: "read", Path: path, Err: err}
		case n <= 0:
			return data, nil
		}
		if data = data[:len(data)+n]; len(data) == cap(data) {
			data = append(make([]byte, 0, 4*cap(data)), data...)
		}
	}
}

// WriteFile writes to a file of the kernel's, in the same way. It never makes one.
func WriteFile(path, value string) error {
	fd, err := open(path, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for {
		if _, err = unix.Write(fd, []byte(value)); err == nil {
			return nil
		}
		if err != unix.EINTR {
			return &os.PathError{Op: "write", Path: path, Err: err}
		}
	}
}

// Names lists a folder, in the same way.
func Names(dir string) (names []string, err error) {
	fd, err := open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for buffer := make([]byte, 8<<10); ; {
		n, err := unix.ReadDirent(fd, buffer)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return names, &os.PathError{Op: "readdirent", Path: dir, Err: err}
		case n <= 0:
			return names, nil
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
}

func open(path string, how int) (int, error) {
	for {
		fd, err := unix.Open(path, how|unix.O_CLOEXEC, 0)
		if err == nil {
			return fd, nil
		}
		if err != unix.EINTR {
			return -1, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// ofProcess is the path of a file of a process.
func ofProcess(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }
