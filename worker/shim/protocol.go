package shim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/internal/patterns"
	"qb/worker/core"
	"qb/worker/proc"
)

// The agent and a shim talk over a unix socket in the instance's folder, one JSON value a line. A new
// connection replaces the former one, of which the shim reads nothing any more.

// Command is one order; exactly one member is set.
type Command struct {
	Run   *RunCommand  `json:"run,omitempty"`
	Stop  *StopCommand `json:"stop,omitempty"`
	Lease core.Moment  `json:"lease,omitempty"`
	Close bool         `json:"close,omitempty"`

	Suspend *SuspendCommand `json:"suspend,omitempty"`

	Ending Ending `json:"ending,omitzero"`  // beside Close
	Answer string `json:"answer,omitempty"` // status with which a program that is kept gets no item: waiting or blocked
}

// Ending is how a program that is kept is ended.
type Ending struct {
	Status string        `json:"status,omitempty"` // that it gets in place of an item
	Grace  time.Duration `json:"grace,omitempty"`  // before TERM, and again before KILL
}

// RunCommand is all that a shim needs to run one attempt.
type RunCommand struct {
	Attempt        api.AttemptID   `json:"attempt"`
	Instance       int             `json:"instance"`
	Lease          core.Moment     `json:"lease"`
	Argv           []string        `json:"argv"`
	Env            []string        `json:"env"`
	Dir            string          `json:"dir"`
	DirOptional    bool            `json:"dir_optional,omitempty"` // the root directory serves, if Dir does not
	Umask          int             `json:"umask"`
	Login          *Login          `json:"login,omitempty"`
	LogLimit       int64           `json:"log_limit"`
	Memory         int64           `json:"memory,omitempty"` // a limit; 0: none
	Private        Private         `json:"private,omitzero"`
	Before         []Stage         `json:"before,omitempty"`
	After          []Stage         `json:"after,omitempty"`
	patterns.Rules                 // for lines of its output
	NoLicence      []api.NoLicence `json:"no_licence,omitempty"`
	Suspended      bool            `json:"suspended,omitempty"` // it waits with its start until it is ordered to go on
	SuspensionID   int64           `json:"suspension_id,omitempty"`
	Session        *Session        `json:"session,omitempty"` // of a load-once job: the program is kept for the next items
}

// Session is what a program that is kept may ask for.
type Session struct {
	Socket string          `json:"socket"` // where it asks
	Work   api.ProgramItem `json:"work"`
	Job    api.ProgramJob  `json:"job"`
	Grace  time.Duration   `json:"grace,omitempty"` // between TERM and KILL
}

// Login is whom the process runs as; nil is the agent's own user.
type Login struct {
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"groups"`
}

// SuspendCommand has the item's tree stand still, or go on.
type SuspendCommand struct {
	Attempt      api.AttemptID `json:"attempt"`
	Suspended    bool          `json:"suspended"`
	SuspensionID int64         `json:"suspension_id,omitempty"` // number of the suspension
}

type StopCommand struct {
	Attempt api.AttemptID `json:"attempt"`
	Grace   time.Duration `json:"grace"`
	Reason  string        `json:"reason"`
	Code    string        `json:"code,omitempty"`    // of outcome stopped
	Outcome string        `json:"outcome,omitempty"` // empty: stopped
	Limit   bool          `json:"limit,omitempty"`
}

// Report is one report; exactly one member is set. Hello is the first on each connection.
type Report struct {
	Hello   *Hello         `json:"hello,omitempty"`
	Started *api.AttemptID `json:"started,omitempty"`
	Ended   *api.Finished  `json:"ended,omitempty"`
	Sample  *sample        `json:"sample,omitempty"`
}

type Hello struct {
	Shim    proc.ID       `json:"shim"`
	Attempt api.AttemptID `json:"attempt"` // zero before the first
	State   string        `json:"state"`
	Loaded  bool          `json:"loaded,omitempty"` // it keeps the program of a load-once job
}

type sample struct {
	Memory    int64   `json:"memory"`
	CPU       float64 `json:"cpu"`
	Wall      float64 `json:"wall"`
	Progress  int     `json:"progress,omitempty"` // per cent
	Frozen    bool    `json:"frozen,omitempty"`
	Suspended bool    `json:"suspended,omitempty"` // it is frozen by order

	SuspensionID int64 `json:"suspension_id,omitempty"` // suspension under which nothing of it runs; 0: something may
	Unkillable   bool  `json:"unkillable,omitempty"`
	Held         bool  `json:"held,omitempty"` // the kernel keeps it to its limit of memory
}

// TooLong is a message that no reader would take, however often it is sent.
type TooLong struct{ Bytes int }

func (e *TooLong) Error() string {
	return fmt.Sprintf("a message between agent and shim takes %d bytes; at most %d", e.Bytes, api.MaxOrder)
}

// Messages are the lines that come over a connection.
func Messages(conn net.Conn) *bufio.Reader { return bufio.NewReaderSize(conn, 16<<10) }

// ReadMessage reads the next one. A connection that ends is an error. What a long one took is free afterwards.
func ReadMessage(lines *bufio.Reader, v any) error {
	var long []byte
	for {
		piece, err := lines.ReadSlice('\n')
		if len(long)+len(piece) > api.MaxOrder {
			return &TooLong{len(long) + len(piece)}
		}
		if err == nil && len(long) == 0 {
			return decodeMessage(piece, v)
		}
		long = append(long, piece...)
		switch err {
		case nil:
			return decodeMessage(long, v)
		case bufio.ErrBufferFull:
		default:
			return err
		}
	}
}

func decodeMessage(line []byte, v any) error {
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("a message between agent and shim: %w", err)
	}
	return nil
}

// EncodeMessage makes the line of a message. Its errors are of the message, and no other connection mends them. No
// character is escaped for HTML, so that an order takes what api.JSONSize counts.
func EncodeMessage(v any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding a message: %w", err)
	}
	if line.Len() > api.MaxOrder {
		return nil, &TooLong{line.Len()}
	}
	return line.Bytes(), nil
}

// WriteMessage writes a line that EncodeMessage made. Its errors are of the connection.
func WriteMessage(conn net.Conn, line []byte, timeout time.Duration) error {
	conn.SetWriteDeadline(time.Now().Add(timeout))
	_, err := conn.Write(line)
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

func ListenIn(dir string) (listener *net.UnixListener, err error) {
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

func DialIn(dir string, timeout time.Duration) (conn net.Conn, err error) {
	err = throughFolder(dir, "s", func(address string) error {
		conn, err = net.DialTimeout("unix", address, timeout)
		return err
	})
	return conn, err
}

// DefaultPath is the search path of shims and, unless their job brings one, of items.
const DefaultPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

// Environment keeps a shim small: it sleeps nearly always. None of the agent's variables is in it.
func Environment() []string { return []string{"PATH=" + DefaultPath, "GOGC=50", "GOMAXPROCS=2"} }
