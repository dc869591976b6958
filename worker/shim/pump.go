package shim

import (
	"encoding/binary"
	"fmt"
	"sync"
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

// pump carries a process's two pipes into a log in the order in which it reads them. It ends when both pipes are closed
// by all who hold them, or when it is cut. Of a program that is kept, the log changes from item to item.
type pump struct {
	mu      sync.Mutex // held to read the pipes into the log, and to change it
	log     *itemLog
	pipes   [2]int // -1: it has ended
	cutting atomic.Bool
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

func newPump(log *itemLog, shared *pumping) *pump {
	var former [8]byte
	unix.Read(shared.wake, former[:]) // a cut of the pump before
	return &pump{log: log, pipes: [2]int{-1, -1}, pumping: shared}
}

// run reads until the end, and closes the pipes and the log. A pipe of -1 has ended.
func (p *pump) run(out, errs int) {
	p.begin(out, errs)
	p.rest()
}

func (p *pump) rest() {
	p.carry()
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := range p.pipes {
		p.closePipe(n)
	}
	p.log.close()
}

// begin gives the pump its pipes. They are read without waiting, as another goroutine may read them meanwhile.
func (p *pump) begin(out, errs int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n, fd := range [2]int{out, errs} {
		if p.pipes[n] = fd; fd >= 0 {
			_ = unix.SetNonblock(fd, true) // the kernel refuses it for no pipe
		}
	}
}

func (p *pump) carry() {
	for {
		fds := []unix.PollFd{{Fd: int32(p.pipes[0]), Events: unix.POLLIN}, {Fd: int32(p.pipes[1]), Events: unix.POLLIN},
			{Fd: int32(p.wake), Events: unix.POLLIN}}
		if p.pipes == [2]int{-1, -1} {
			return
		}
		if _, err := unix.Poll(fds, -1); err != nil {
			if err != unix.EINTR { // the kernel is out of memory
				time.Sleep(pollRetry)
			}
			continue
		}
		p.mu.Lock()
		for n := range p.pipes {
			if fds[n].Revents != 0 && p.read(n) < 0 {
				p.closePipe(n)
			}
		}
		p.mu.Unlock()
		if p.cutting.Load() && fds[0].Revents|fds[1].Revents == 0 {
			return
		}
	}
}

func (p *pump) closePipe(n int) {
	if p.pipes[n] >= 0 {
		unix.Close(p.pipes[n])
		p.pipes[n] = -1
	}
}

// cut ends the pump once nothing is left to read, though somebody still holds a pipe.
func (p *pump) cut() {
	p.cutting.Store(true)
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	unix.Write(p.wake, one[:])
}

// read takes one piece of a pipe and returns its size; less than 0 when the pipe has ended.
func (p *pump) read(pipe int) int {
	n, err := unix.Read(p.pipes[pipe], p.buffer[HeaderSize:])
	if err == unix.EINTR || err == unix.EAGAIN {
		return 0
	}
	if err != nil || n <= 0 {
		return -1
	}
	p.log.take([2]byte{StreamOut, StreamErr}[pipe], n)
	return n
}

// turn puts what the pipes hold now into the present log and goes on with another one. Over says that nothing more
// comes into the present log. What is written meanwhile goes into the next one, however much it is.
func (p *pump) turn(next *itemLog, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.log.closed {
		return // the program has ended, and so has all that it wrote
	}
	for n, fd := range p.pipes {
		for held := waitingIn(fd); held > 0; {
			took := p.read(n)
			if took <= 0 {
				break
			}
			held -= took
		}
	}
	if over {
		p.log.close()
	}
	p.log = next
}

// waitingIn is how many bytes a pipe holds.
func waitingIn(fd int) int {
	if fd < 0 {
		return 0
	}
	held, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return held
}
