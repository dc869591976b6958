//go:build unix

package output

import (
	"context"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// readerPoll is how long one wait for the end of a pipe's reader may take; it bounds how long a command outlives its
// use.
const readerPoll = time.Second

// WhileRead returns a context that ends when no one reads w any more, such as the pipe to a head that has seen enough.
// Its cause is then the error that a write to w would return. Who writes seldom does not learn it otherwise.
func WhileRead(ctx context.Context, w io.Writer) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if f, ok := w.(*os.File); ok {
		go func() {
			for ctx.Err() == nil {
				if abandoned(int(f.Fd())) {
					cancel(&fs.PathError{Op: "write", Path: f.Name(), Err: syscall.EPIPE})
					return
				}
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}

// abandoned waits for the reader of a pipe or socket to go; false after readerPoll. Poll reports that without being
// asked for anything (poll(2): POLLERR).
func abandoned(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd)}}
	n, err := unix.Poll(fds, int(readerPoll.Milliseconds()))
	if err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
		return true
	}
	if err != nil || n > 0 { // a signal, or a terminal that hung up: Poll would return at once again
		time.Sleep(readerPoll)
	}
	return false
}
