package shim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// itemLog is the file of an item's output, or of what a program that is kept writes between two items. A log that
// reached its limit takes only the end of the output, when that has come. A piece that cannot be written, as its disk
// is full, goes on when it can be, with a note of what is missing. Either way the pipes are drained, so that the
// process is not held up for good; a process that writes on beyond the limit waits for its pipe at times, for what is
// read and dropped costs the worker's user, not its own.
type itemLog struct {
	path    string
	fresh   bool     // what the file has is of another attempt
	file    *os.File // nil: not open yet
	buffer  *[HeaderSize + pumpBuffer]byte
	limit   int64
	head    int64 // most of it that is written before the tail
	tail    tail
	size    int64
	full    bool  // the head is: what comes now is the tail's
	noted   bool  // the log says that it reached its limit
	missing int64 // bytes that could not be written and that the log does not mention yet
	lost    int64 // bytes that could not be written, in all
	err     error // why not
	closed  bool
	watcher // of the output of the item's own command
}

func newLog(path string, limit int64, shared *pumping) *itemLog {
	most := min(tailKept, limit/2)
	return &itemLog{path: path, buffer: shared.buffer, limit: limit, head: limit - most - noteRoom,
		tail: tail{most: int(most)}, watcher: newWatcher()}
}

// open makes the file, or goes on behind what it has. A log that is opened with the first output costs an item that
// writes nothing no file.
func (l *itemLog) open() (err error) {
	if l.file != nil {
		return nil
	}
	how := unix.O_CREAT | unix.O_WRONLY
	if l.fresh {
		how |= unix.O_TRUNC
	}
	if l.file, err = OpenFile(l.path, how); err != nil {
		return err
	}
	if info, err := l.file.Stat(); err == nil {
		l.size = info.Size()
	}
	return nil
}

// take takes the first n bytes of the buffer's body from a stream.
func (l *itemLog) take(stream byte, n int) {
	l.look(stream, l.buffer[HeaderSize:HeaderSize+n])
	l.append(stream, n)
	if l.full {
		time.Sleep(drainPause)
	}
}

// close is called once all of the output has come.
func (l *itemLog) close() {
	l.end()
	l.finish()
	if why := l.unlooked(); why != "" {
		l.note("[qb: %s]\n", why)
	}
	l.mark(0)
	l.file.Close() // none is refused
	l.closed = true
}

// append takes the first n bytes of the buffer's body.
func (l *itemLog) append(stream byte, n int) {
	if l.full || l.size+int64(HeaderSize+n) > l.head {
		l.beyond(stream, n)
		return
	}
	l.put(stream, n)
}

// put writes the first n bytes of the buffer's body, whole or not at all.
func (l *itemLog) put(stream byte, n int) {
	if !l.mark(HeaderSize+n) || !l.write(stream, l.buffer[:HeaderSize+n]) {
		l.missing += int64(n)
		l.lost += int64(n)
	}
}

// mark notes in the log what is missing at this place, if anything is; false if it cannot. It waits until there is
// room for what comes next too, for a note is never taken back: it may have been shipped.
func (l *itemLog) mark(next int) bool {
	if l.missing == 0 {
		return true
	}
	piece := fmt.Appendf(make([]byte, HeaderSize), "\n[qb: %d bytes of the log were dropped: %v]\n", l.missing, l.err)
	err := unix.Fallocate(int(l.file.Fd()), unix.FALLOC_FL_KEEP_SIZE, l.size, int64(len(piece)+next))
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || !l.write(StreamErr, piece) {
		return false
	}
	l.missing = 0
	return true
}

// write puts one piece behind the others, whole or not at all; its first bytes are for the header.
func (l *itemLog) write(stream byte, piece []byte) bool {
	piece[0] = stream
	binary.LittleEndian.PutUint32(piece[1:HeaderSize], uint32(len(piece)-HeaderSize))
	err := l.open()
	if err == nil {
		_, err = l.file.WriteAt(piece, l.size)
	}
	if err != nil {
		l.err = err
		if path := (*os.PathError)(nil); errors.As(err, &path) {
			l.err = path.Err // where the worker keeps it is no news to a user
		}
		l.file.Truncate(l.size)
		return false
	}
	l.size += int64(len(piece))
	return true
}

// shortfall says what the log lacks, or what of it was not looked at; "" for nothing. Good after run.
func (l *itemLog) shortfall() string {
	if l.lost == 0 {
		return l.unlooked()
	}
	return fmt.Sprintf("the item's log is not complete: %d bytes of its output could not be written: %v", l.lost, l.err)
}
