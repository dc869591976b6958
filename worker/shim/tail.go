package shim

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"qb/internal/units"
)

// tailKept is the room for the end of a log beyond its limit: a megabyte, and the headers of its pieces.
const tailKept = 1<<20 + 16<<10

// tail holds the end of what an item wrote after its log's head was full, as pieces of the log with their headers. It
// takes at most twice its size, and one piece.
type tail struct {
	kept    []byte // pieces, from start on
	start   int
	last    int   // where the last piece begins
	most    int   // bytes to keep, headers included
	dropped int64 // bytes of output that no longer fit
}

// add takes a piece of a stream; what came from the same stream just before is one piece with it.
func (t *tail) add(stream byte, data []byte) {
	if len(t.kept) > t.start && t.kept[t.last] == stream && len(t.kept)-t.last+len(data) <= HeaderSize+pumpBuffer {
		t.kept = append(t.kept, data...)
	} else {
		t.last = len(t.kept)
		t.kept = append(append(t.kept, stream, 0, 0, 0, 0), data...)
	}
	binary.LittleEndian.PutUint32(t.kept[t.last+1:], uint32(len(t.kept)-t.last-HeaderSize))
	for t.start < t.last && len(t.kept)-t.start-t.first() >= t.most {
		t.dropped += int64(t.first() - HeaderSize)
		t.start += t.first()
	}
	if t.start >= t.most {
		t.last -= t.start
		t.kept = append(t.kept[:0], t.kept[t.start:]...)
		t.start = 0
	}
}

// first is the length of the oldest piece.
func (t *tail) first() int {
	return HeaderSize + int(binary.LittleEndian.Uint32(t.kept[t.start+1:]))
}

// trim drops what is too much of the oldest piece and, if anything is missing, the rest of its first line.
func (t *tail) trim() {
	over := len(t.kept) - t.start - t.most
	if over <= 0 && t.dropped == 0 {
		return
	}
	piece := t.kept[t.start+HeaderSize : t.start+t.first()]
	cut := min(max(over, 0), len(piece))
	if line := bytes.IndexByte(piece[cut:], '\n'); line >= 0 && line < maxLineCut {
		cut += line + 1
	}
	t.dropped += int64(cut)
	if cut == len(piece) {
		t.start += t.first()
		return
	}
	stream := t.kept[t.start]
	t.start += cut
	t.kept[t.start] = stream
	binary.LittleEndian.PutUint32(t.kept[t.start+1:], uint32(len(piece)-cut))
}

// drop drops all of it.
func (t *tail) drop() {
	for t.start < len(t.kept) {
		t.dropped += int64(t.first() - HeaderSize)
		t.start += t.first()
	}
}

// maxLineCut is how much of the tail is given up so that it begins with a whole line.
const maxLineCut = 4 << 10

// beyond takes the first n bytes of the buffer's body when the log's head is full.
func (l *itemLog) beyond(stream byte, n int) {
	l.tail.add(stream, l.buffer[HeaderSize:HeaderSize+n])
	l.full = true
	l.noteLimit()
}

// noteLimit says that the log reached its limit, once something of the output is missing.
func (l *itemLog) noteLimit() {
	if !l.noted && l.tail.dropped > 0 {
		l.noted = true
		l.note("\n[qb: the log reached its limit of %s (worker_log_limit); the end of the output follows when the item has ended]\n", units.Size(l.limit))
	}
}

// finish adds the end of the output to a log that reached its limit, with a line that says how much is missing before.
func (l *itemLog) finish() {
	t := &l.tail
	if !l.full {
		return
	}
	if l.size+int64(t.most) > l.limit { // a former program of the session has added its end
		t.drop()
	} else {
		t.trim()
	}
	l.noteLimit()
	if t.dropped > 0 {
		l.note("[qb: %d bytes of the log are missing here (%s)]\n", t.dropped, units.Size(t.dropped))
	}
	for t.start < len(t.kept) {
		piece := t.kept[t.start : t.start+t.first()]
		t.start += len(piece)
		l.put(piece[0], copy(l.buffer[HeaderSize:], piece[HeaderSize:]))
	}
	t.kept = nil
}

// note puts a line of qb's own into the log.
func (l *itemLog) note(format string, args ...any) {
	l.put(StreamErr, copy(l.buffer[HeaderSize:], fmt.Sprintf(format, args...)))
}
