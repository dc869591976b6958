package patterns

import (
	"strings"
	"unicode/utf8"
)

// Ends are the bytes that end a line of output: line feeds, the carriage returns of a progress bar, and the backspaces
// of a program that takes back what it wrote. Between two of them is nothing, or a line.
const Ends = "\n\r\b"

// context is how many bytes are before a later part of a line, for expressions that look at what is before them.
// Parts of a long line overlap, so that what is searched is whole in one of them.
const context = utf8.UTFMax

// Piece is a line, or a part of a line longer than MaxLine.
type Piece struct {
	Text  []byte
	Later bool // not the first part of its line; it begins with bytes of the part before
	More  bool // not the last one; what begins after the limit is in the next part, too
}

// limit is before which byte a find begins in a part that is not the last.
func (p Piece) limit() int {
	if p.Later {
		return context + MaxLine/2
	}
	return MaxLine / 2
}

// Lines takes output in pieces and hands on its lines, those of each stream for itself: their text (Text) without its
// ends. The part is good for the call only.
type Lines struct {
	Take    func(Piece)
	streams map[byte]*stream
}

// stream is what is known of one stream.
type stream struct {
	text  Text
	held  []byte // of a line that has not ended
	later bool   // its first part was handed on
}

// Write takes a piece of a stream.
func (l *Lines) Write(number byte, piece []byte) {
	if l.streams == nil {
		l.streams = map[byte]*stream{}
	}
	s := l.streams[number]
	if s == nil {
		s = &stream{}
		s.text.Take = func(text []byte, _ int64) {
			if strings.IndexByte(Ends, text[0]) >= 0 {
				l.endLine(s)
				return
			}
			l.hold(s, text)
		}
		l.streams[number] = s
	}
	s.text.Write(piece)
}

// hold adds to a line, and hands on a part of a line that gets too long.
func (l *Lines) hold(s *stream, text []byte) {
	for len(text) > 0 {
		most := MaxLine
		if s.later {
			most += context
		}
		if len(s.held) == most {
			p := Piece{Text: s.held, Later: s.later, More: true}
			l.Take(p)
			s.held = append(s.held[:0], s.held[p.limit()-context:]...)
			s.later = true
			continue
		}
		n := min(len(text), most-len(s.held))
		s.held = append(s.held, text[:n]...)
		text = text[n:]
	}
}

func (l *Lines) endLine(s *stream) {
	if len(s.held) > 0 {
		l.Take(Piece{Text: s.held, Later: s.later})
	}
	s.held = s.held[:0]
	s.later = false
}

// End hands on what has no end of a line.
func (l *Lines) End() {
	for _, s := range l.streams {
		s.text.End()
		l.endLine(s)
	}
	l.streams = nil
}
