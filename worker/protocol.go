package worker

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/worker/core"
	"qb/worker/proc"
)

// The agent and a shim talk over a unix socket in the instance's folder, one JSON value a line. A new
// connection replaces the former one, of which the shim reads nothing any more.

// toShim is one order; exactly one member is set.
type toShim struct {
	Run   *runOrder   `json:"run,omitempty"`
	Stop  *stopOrder  `json:"stop,omitempty"`
	Lease core.Moment `json:"lease,omitempty"`
	Close bool        `json:"close,omitempty"`
}

// runOrder is all that a shim needs to run one attempt.
type runOrder struct {
	Attempt     api.AttemptID `json:"attempt"`
	Instance    int           `json:"instance"`
	Lease       core.Moment   `json:"lease"`
	Argv        []string      `json:"argv"`
	Env         []string      `json:"env"`
	Dir         string        `json:"dir"`
	DirOptional bool          `json:"dir_optional,omitempty"` // the root directory serves, if Dir does not
	Umask       int           `json:"umask"`
	Login       *login        `json:"login,omitempty"`
	LogLimit    int64         `json:"log_limit"`
	Memory      int64         `json:"memory,omitempty"` // a limit; 0: none
	Private     private       `json:"private,omitzero"`
}

// login is whom the process runs as; nil is the agent's own user.
type login struct {
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"groups"`
}

type stopOrder struct {
	Attempt api.AttemptID `json:"attempt"`
	Grace   time.Duration `json:"grace"`
	Reason  string        `json:"reason"`
	Code    string        `json:"code,omitempty"`    // of outcome stopped
	Outcome string        `json:"outcome,omitempty"` // empty: stopped
	Limit   bool          `json:"limit,omitempty"`
}

// fromShim is one report; exactly one member is set. Hello is the first on each connection.
type fromShim struct {
	Hello   *hello         `json:"hello,omitempty"`
	Started *api.AttemptID `json:"started,omitempty"`
	Ended   *api.Finished  `json:"ended,omitempty"`
	Sample  *sample        `json:"sample,omitempty"`
}

type hello struct {
	Shim    proc.ID       `json:"shim"`
	Attempt api.AttemptID `json:"attempt"` // zero before the first
	State   string        `json:"state"`
}

type sample struct {
	Memory int64   `json:"memory"`
	CPU    float64 `json:"cpu"`
	Wall   float64 `json:"wall"`
	Frozen bool    `json:"frozen,omitempty"`

	Unkillable bool `json:"unkillable,omitempty"`
	Held       bool `json:"held,omitempty"` // the kernel keeps it to its limit of memory
}

// maxMessage bounds one line: a command and an environment of the largest that a submission may hold.
const maxMessage = 8 << 20

var errMessage = errors.New("a message between agent and shim is too long")

func readMessage(r *bufio.Reader, v any) error {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxMessage {
			return errMessage
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("a message between agent and shim: %w", err)
	}
	return nil
}

func writeMessage(conn net.Conn, v any, timeout time.Duration) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	if len(data) >= maxMessage {
		return errMessage
	}
	conn.SetWriteDeadline(time.Now().Add(timeout))
	_, err = conn.Write(append(data, '\n'))
	return err
}

// throughFolder calls use with an address for the socket name in dir that is short whatever the length
// of dir: unix sockets take no path of more than 107 bytes.
func throughFolder(dir, name string, use func(address string) error) error {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	return use(filepath.Join("/proc/self/fd", fmt.Sprint(fd), name))
}

func listenIn(dir string) (listener *net.UnixListener, err error) {
	err = throughFolder(dir, "s", func(address string) error {
		os.Remove(address)
		listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
		return err
	})
	if listener != nil {
		listener.SetUnlinkOnClose(false)
	}
	return listener, err
}

func dialIn(dir string, timeout time.Duration) (conn net.Conn, err error) {
	err = throughFolder(dir, "s", func(address string) error {
		conn, err = net.DialTimeout("unix", address, timeout)
		return err
	})
	return conn, err
}
