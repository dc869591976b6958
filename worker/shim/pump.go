package shim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Streams of a log, as api.LogChunk frames them.
const (
	StreamOut  = 1
	StreamErr  = 2
	HeaderSize = 5
	pumpBuffer = 64 << 10
	pollRetry  = 10 * time.Millisecond
	noteRoom   = 512                  // for qb's own lines in a log that reached its limit
	drainPause = 4 * time.Millisecond // after each piece that is dropped: at most 16 MiB a second
)

// pump carries a process's two pipes into one log file in the order in which it reads them. It ends when both pipes are
// closed by all who hold them, or when it is cut. A log that reached its limit takes only the end of the output, when
// that has come. A piece that cannot be written, as its disk is full, goes on when it can be, with a note of what is
// missing. Either way the pipes are drained, so that the process is not held up for good; a process that writes on
// beyond the limit waits for its pipe at times, for what is read and dropped costs the worker's user, not its own.
type pump struct {
	file    *os.File
	limit   int64
	head    int64 // most of it that is written before the tail
	tail    tail
	size    int64
	full    bool  // the head is: what comes now is the tail's
	noted   bool  // the log says that it reached its limit
	missing int64 // bytes that could not be written and that the log does not mention yet
	lost    int64 // bytes that could not be written, in all
	err     error // why not
	cutting atomic.Bool
	watcher // of the output of the item's own command
	*pumping
}

// pumping is what a shim's pumps share, for there is one at a time.
type pumping struct {
	wake   int                            // eventfd; its value is not 0 when the pump is cut
	buffer *[HeaderSize + pumpBuffer]byte // the kernel gives no memory for it before there is output
}

func newPumping() (*pumping, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("making an eventfd: %w", err)
	}
	return &pumping{wake, new([HeaderSize + pumpBuffer]byte)}, nil
}

func newPump(file *os.File, limit int64, shared *pumping) *pump {
	var former [8]byte
	unix.Read(shared.wake, former[:]) // a cut of the pump before
	most, size := min(tailKept, limit/2), int64(0)
	if info, err := file.Stat(); err == nil {
		size = info.Size() // of the stages before
	}
	return &pump{file: file, size: size, limit: limit, head: limit - most - noteRoom, tail: tail{most: int(most)},
		watcher: newWatcher(), pumping: shared}
}

// run reads until the end and closes the pipes and the file. A pipe of -1 has ended.
func (p *pump) run(out, errs int) {
	streams := map[int32]byte{int32(out): StreamOut, int32(errs): StreamErr}
	fds := []unix.PollFd{
		{Fd: int32(out), Events: unix.POLLIN}, {Fd: int32(errs), Events: unix.POLLIN},
		{Fd: int32(p.wake), Events: unix.POLLIN},
	}
	open := 0
	for _, fd := range fds[:2] {
		if fd.Fd >= 0 {
			open++
		}
	}
	for open > 0 {
		if _, err := unix.Poll(fds, -1); err != nil {
			if err != unix.EINTR { // the kernel is out of memory
				time.Sleep(pollRetry)
			}
			continue
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
	p.end()
	p.finish()
	if why := p.unlooked(); why != "" {
		p.note("[qb: %s]\n", why)
	}
	p.mark(0)
	p.file.Close()
}

// cut ends the pump once nothing is left to read, though somebody still holds a pipe.
func (p *pump) cut() {
	p.cutting.Store(true)
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	unix.Write(p.wake, one[:])
}

// read takes one piece; false when the pipe has ended.
func (p *pump) read(fd int, stream byte) bool {
	n, err := unix.Read(fd, p.buffer[HeaderSize:])
	if err == unix.EINTR || err == unix.EAGAIN {
		return true
	}
	if err != nil || n <= 0 {
		return false
	}
	p.look(stream, p.buffer[HeaderSize:HeaderSize+n])
	p.append(stream, n)
	if p.full {
		time.Sleep(drainPause)
	}
	return true
}

// append takes the first n bytes of the buffer's body.
func (p *pump) append(stream byte, n int) {
	if p.full || p.size+int64(HeaderSize+n) > p.head {
		p.beyond(stream, n)
		return
	}
	p.put(stream, n)
}

// put writes the first n bytes of the buffer's body, whole or not at all.
func (p *pump) put(stream byte, n int) {
	if !p.mark(HeaderSize+n) || !p.write(stream, p.buffer[:HeaderSize+n]) {
		p.missing += int64(n)
		p.lost += int64(n)
	}
}

// mark notes in the log what is missing at this place, if anything is; false if it cannot. It waits until there is
// room for what comes next too, for a note is never taken back: it may have been shipped.
func (p *pump) mark(next int) bool {
	if p.missing == 0 {
		return true
	}
	piece := fmt.Appendf(make([]byte, HeaderSize), "\n[qb: %d bytes of the log were dropped: %v]\n", p.missing, p.err)
	err := unix.Fallocate(int(p.file.Fd()), unix.FALLOC_FL_KEEP_SIZE, p.size, int64(len(piece)+next))
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || !p.write(StreamErr, piece) {
		return false
	}
	p.missing = 0
	return true
}

// write puts one piece behind the others, whole or not at all; its first bytes are for the header.
func (p *pump) write(stream byte, piece []byte) bool {
	piece[0] = stream
	binary.LittleEndian.PutUint32(piece[1:HeaderSize], uint32(len(piece)-HeaderSize))
	if _, err := p.file.WriteAt(piece, p.size); err != nil {
		p.err = err
		if path := (*os.PathError)(nil); errors.As(err, &path) {
			p.err = path.Err // where the worker keeps it is no news to a user
		}
		p.file.Truncate(p.size)
		return false
	}
	p.size += int64(len(piece))
	return true
}

// shortfall says what the log lacks, or what of it was not looked at; "" for nothing. Good after run.
func (p *pump) shortfall() string {
	if p.lost == 0 {
		return p.unlooked()
	}
	return fmt.Sprintf("the item's log is not complete: %d bytes of its output could not be written: %v", p.lost, p.err)
}
