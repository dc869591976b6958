package patterns

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Ends are the bytes that end a line of output: line feeds, the carriage returns of a progress bar, and the backspaces
// of one that takes back what it wrote. Between two of them is nothing, or a line.
const Ends = "\n\r\b"

// Bounds of a part of a line. Parts of a long line overlap, so that what is looked for stands in one of them whole.
const (
	context = utf8.UTFMax // bytes before a later part, for expressions that look at what stands before them
	stops   = Ends + "\x1b\x00"
)

// Part is a line, or a part of one that is longer than MaxLine.
type Part struct {
	Text  []byte
	Later bool // not the first part of its line; it begins with bytes of the part before
	More  bool // not the last one; what begins behind the limit stands in the next part, too
}

// limit is before which byte a find begins in a part that is not the last.
func (p Part) limit() int {
	if p.Later {
		return context + MaxLine/2
	}
	return MaxLine / 2
}

// Lines takes output in pieces and hands on its lines, those of each stream for itself: without their ends, without the
// sequences that colour a terminal, byte order marks and NULs, and in UTF-8 where a mark says that the output is in
// UTF-16. The part is good for the call only.
type Lines struct {
	Take    func(Part)
	streams map[byte]*stream
}

// stream is what is known of one stream.
type stream struct {
	held   []byte // of a line that has not ended
	later  bool   // its first part was handed on
	begun  bool   // of the line there is more than what may be a byte order mark
	mark   []byte // what may be one
	escape escape
	wide   wide
	unit   []byte // half of a unit of it
	high   rune   // half of a pair of units
}

// wide is which byte of a unit of UTF-16 comes first.
type wide int

const (
	bytewise wide = iota // it is not UTF-16
	littleEndian
	bigEndian
)

// Write takes a piece of a stream.
func (l *Lines) Write(number byte, piece []byte) {
	if l.streams == nil {
		l.streams = map[byte]*stream{}
	}
	s := l.streams[number]
	if s == nil {
		s = &stream{}
		l.streams[number] = s
	}
	for len(piece) > 0 {
		switch {
		case s.wide != bytewise:
			l.decode(s, piece)
			return
		case !s.begun && len(s.mark) == 0 && piece[0] < marks[0][0]:
			s.begun = true
		case !s.begun:
			l.begin(s, piece[0])
			piece = piece[1:]
		default:
			piece = l.feed(s, piece)
		}
	}
}

var marks = []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"}

// begin takes a byte at the begin of a line, where a byte order mark may stand: a program that is one of several writes
// it there.
func (l *Lines) begin(s *stream, b byte) {
	s.mark = append(s.mark, b)
	for n, mark := range marks {
		switch {
		case mark == string(s.mark):
			s.mark = s.mark[:0]
			s.begun = n == 0
			switch n {
			case 1:
				s.wide = littleEndian
			case 2:
				s.wide = bigEndian
			}
			return
		case bytes.HasPrefix([]byte(mark), s.mark):
			return
		}
	}
	l.unmark(s)
}

// unmark takes what is no byte order mark as text.
func (l *Lines) unmark(s *stream) {
	text := append([]byte(nil), s.mark...)
	s.mark = s.mark[:0]
	s.begun = true
	for len(text) > 0 { // a control byte can only be the last of them
		text = l.feed(s, text)
	}
}

// decode takes UTF-16.
func (l *Lines) decode(s *stream, piece []byte) {
	var text []byte
	for _, b := range piece {
		if s.unit = append(s.unit, b); len(s.unit) < 2 {
			continue
		}
		first, second := rune(s.unit[0]), rune(s.unit[1])
		if s.wide == littleEndian {
			first, second = second, first
		}
		unit := first<<8 | second
		s.unit = s.unit[:0]
		high := s.high
		s.high = 0
		switch {
		case high != 0 && utf16.DecodeRune(high, unit) != utf8.RuneError:
			text = utf8.AppendRune(text, utf16.DecodeRune(high, unit))
		case unit >= 0xd800 && unit < 0xdc00:
			s.high = unit
		default:
			text = utf8.AppendRune(text, unit)
		}
	}
	for len(text) > 0 {
		text = l.feed(s, text)
	}
}

// feed takes text up to and with the next control byte, and gives back the rest.
func (l *Lines) feed(s *stream, text []byte) []byte {
	b := text[0]
	switch {
	case b == '\n' || b == '\r': // ends an escape sequence, too
		l.endLine(s)
		return text[1:]
	case s.escape != plain:
		taken := false
		if s.escape, taken = s.escape.next(b); taken {
			text = text[1:]
		}
		return text
	case b == '\b':
		l.endLine(s)
		return text[1:]
	case b == 0:
		return text[1:]
	case b == '\x1b':
		s.escape = escaped
		return text[1:]
	}
	end := bytes.IndexAny(text, stops)
	if end < 0 {
		end = len(text)
	}
	l.hold(s, text[:end])
	return text[end:]
}

// hold adds to a line, and hands on a part of one that gets too long.
func (l *Lines) hold(s *stream, text []byte) {
	for len(text) > 0 {
		most := MaxLine
		if s.later {
			most += context
		}
		if len(s.held) == most {
			p := Part{Text: s.held, Later: s.later, More: true}
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
		l.Take(Part{Text: s.held, Later: s.later})
	}
	s.held = s.held[:0]
	s.later = false
	s.escape = plain
	s.begun = s.wide != bytewise
}

// End hands on what has no end of a line.
func (l *Lines) End() {
	for _, s := range l.streams {
		l.unmark(s)
		l.endLine(s)
	}
	l.streams = nil
}
