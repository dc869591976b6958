package worker

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Streams of a log, as api.LogChunk frames them.
const (
	streamOut  = 1
	streamErr  = 2
	headerSize = 5
	pumpBuffer = 64 << 10
)

// pump carries a process's two pipes into one log file in the order in which it reads them. It ends when
// both pipes are closed by all who hold them, or when it is cut. A log that reached its limit takes no
// more, one that cannot be written is reported once; either way the pipes are drained, so that the
// process is not held up.
type pump struct {
	file    *os.File
	limit   int64
	size    int64
	full    bool
	failed  func(error)
	wake    int // eventfd
	cutting atomic.Bool
	buffer  [headerSize + pumpBuffer]byte
}

func newPump(file *os.File, limit int64, failed func(error)) (*pump, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("making an eventfd: %w", err)
	}
	return &pump{file: file, limit: limit, failed: failed, wake: wake}, nil
}

// run reads until the end and closes the pipes and the file.
func (p *pump) run(out, errs int) {
	streams := map[int32]byte{int32(out): streamOut, int32(errs): streamErr}
	fds := []unix.PollFd{
		{Fd: int32(out), Events: unix.POLLIN}, {Fd: int32(errs), Events: unix.POLLIN}, {Fd: int32(p.wake), Events: unix.POLLIN},
	}
	for open := 2; open > 0; {
		if _, err := unix.Poll(fds, -1); err != nil && err != unix.EINTR {
			p.fail(fmt.Errorf("waiting for output: %w", err))
			break
		}
		for i := range fds[:2] {
			if fds[i].Fd >= 0 && fds[i].Revents != 0 && !p.read(int(fds[i].Fd), streams[fds[i].Fd]) {
				unix.Close(int(fds[i].Fd))
				fds[i].Fd = -1
				open--
			}
		}
		if p.cutting.Load() && open > 0 && fds[0].Revents|fds[1].Revents == 0 {
			break
		}
		fds[0].Revents, fds[1].Revents = 0, 0
	}
	for _, fd := range fds[:2] {
		if fd.Fd >= 0 {
			unix.Close(int(fd.Fd))
		}
	}
	p.file.Close()
}

// release is called when run has returned and cut is called no more.
func (p *pump) release() { unix.Close(p.wake) }

// cut ends the pump once nothing is left to read, though somebody still holds a pipe.
func (p *pump) cut() {
	p.cutting.Store(true)
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	unix.Write(p.wake, one[:])
}

// read takes one piece; false when the pipe has ended.
func (p *pump) read(fd int, stream byte) bool {
	n, err := unix.Read(fd, p.buffer[headerSize:])
	if err == unix.EINTR || err == unix.EAGAIN {
		return true
	}
	if err != nil || n <= 0 {
		return false
	}
	p.append(stream, n)
	return true
}

// append writes the first n bytes of the buffer's body, whole or not at all.
func (p *pump) append(stream byte, n int) {
	if p.full {
		return
	}
	if p.size+int64(headerSize+n) > p.limit {
		p.full = true
		n = copy(p.buffer[headerSize:], fmt.Sprintf("\n[qb: the log reached its limit of %s (worker_log_limit); what came after was dropped]\n", Bytes(p.limit)))
		stream = streamErr
	}
	p.buffer[0] = stream
	binary.LittleEndian.PutUint32(p.buffer[1:headerSize], uint32(n))
	if _, err := p.file.Write(p.buffer[:headerSize+n]); err != nil {
		p.file.Truncate(p.size)
		p.fail(err)
		return
	}
	p.size += int64(headerSize + n)
}

func (p *pump) fail(err error) {
	p.full = true
	p.failed(err)
}
