package patterns

import "bytes"

// Lines takes output in pieces and hands on its lines, those of each stream for itself, without their ends. A carriage return ends a
// line too. The line is good for the call only.
type Lines struct {
	Take    func(line []byte)
	partial map[byte][]byte // by stream: the begin of a line that has not ended
	long    map[byte]bool   // by stream: it is longer than MaxLine, and was handed on
}

// Write takes a piece of a stream.
func (l *Lines) Write(stream byte, piece []byte) {
	if l.partial == nil {
		l.partial, l.long = map[byte][]byte{}, map[byte]bool{}
	}
	for len(piece) > 0 {
		line, rest, whole := piece, []byte(nil), false
		if end := bytes.IndexAny(piece, "\n\r"); end >= 0 {
			line, rest, whole = piece[:end], piece[end+1:], true
		}
		l.add(stream, line, whole)
		piece = rest
	}
}

func (l *Lines) add(stream byte, part []byte, whole bool) {
	begun := l.partial[stream]
	if !l.long[stream] {
		begun = append(begun, part[:min(len(part), MaxLine-len(begun))]...)
		if whole && len(begun) > 0 || len(begun) == MaxLine {
			l.Take(begun)
			l.long[stream], begun = true, begun[:0]
		}
	}
	if whole {
		l.long[stream] = false
	}
	l.partial[stream] = begun
}

// End hands on what has no end of a line.
func (l *Lines) End() {
	for stream := range l.partial {
		if begun := l.partial[stream]; len(begun) > 0 {
			l.Take(begun)
		}
	}
	l.partial, l.long = nil, nil
}
