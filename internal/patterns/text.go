package patterns

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	stops = Ends + "\x1b\x00"
	mark  = "\xef\xbb\xbf" // a byte order mark in UTF-8
	sure  = 8              // bytes with a zero in every second: they are UTF-16
)

// coding is how the bytes of output are text.
type coding int

const (
	unknown coding = iota
	bytewise
	littleEndian // UTF-16
	bigEndian
)

// codingOf is the coding of output that begins with these bytes, and how long its mark is. It is not known while more
// bytes could tell and last does not say that there are none.
func codingOf(first []byte, last bool) (is coding, marked int) {
	switch {
	case bytes.HasPrefix(first, []byte(mark)):
		return bytewise, len(mark)
	case bytes.HasPrefix(first, []byte("\xff\xfe")):
		return littleEndian, 2
	case bytes.HasPrefix(first, []byte("\xfe\xff")):
		return bigEndian, 2
	}
	first = first[:min(len(first), sure)]
	little, big := true, true
	for n, b := range first {
		zero, odd := b == 0, n%2 == 1
		little = little && zero == odd
		big = big && zero != odd
	}
	begun := len(first) < len(mark) && (strings.HasPrefix(mark, string(first)) || len(first) == 1 && first[0] >= 0xfe)
	switch {
	case !last && (begun || (little || big) && len(first) < sure):
		return unknown, 0
	case little && len(first) >= sure/2:
		return littleEndian, 0
	case big && len(first) >= sure/2:
		return bigEndian, 0
	}
	return bytewise, 0
}

// Text takes a stream of output in pieces and hands on the text of it with its place in the stream: without sequences
// for a terminal, NULs, and byte order marks at the begin of a line, and in UTF-8 if the stream begins with UTF-16.
// Each end of a line is handed on for itself. A sequence ends with its line.
type Text struct {
	Take func(text []byte, place int64) // in UTF-16 a text is one character, or a part of it

	Mark   int   // bytes of the mark at the begin of the stream
	Unit   int64 // bytes of a unit; 0: not known yet
	coding coding
	first  []byte // while the coding is not known
	place  int64  // of the next byte
	begun  bool   // of the line there is more than what may be a byte order mark
	marked []byte // what may be one
	at     int64  // its place
	escape escape
	half   []byte // of a unit
	high   rune   // half of a pair of units
}

// Write takes a piece.
func (t *Text) Write(piece []byte) { t.write(piece, false) }

// End takes what was held back, as there is no more.
func (t *Text) End() {
	t.write(nil, true)
	if t.high != 0 {
		t.feed([]byte("\uFFFD"), t.place-2)
	}
	t.unmark()
}

func (t *Text) write(piece []byte, last bool) {
	if t.coding == unknown {
		t.first = append(t.first, piece...)
		if t.coding, t.Mark = codingOf(t.first, last); t.coding == unknown {
			return
		}
		t.Unit = 2
		if t.coding == bytewise {
			t.Unit = 1
		}
		piece = t.first[t.Mark:]
		t.first = nil
		t.place = int64(t.Mark)
		t.begun = t.Mark > 0
	}
	if t.coding != bytewise {
		t.decode(piece)
		return
	}
	t.feed(piece, t.place)
	t.place += int64(len(piece))
}

// decode takes UTF-16.
func (t *Text) decode(piece []byte) {
	for _, b := range piece {
		t.place++
		if t.half = append(t.half, b); len(t.half) < 2 {
			continue
		}
		first, second := rune(t.half[0]), rune(t.half[1])
		if t.coding == littleEndian {
			first, second = second, first
		}
		unit, high, place := first<<8|second, t.high, t.place-2
		t.half = t.half[:0]
		t.high = 0
		switch {
		case high != 0 && utf16.DecodeRune(high, unit) != utf8.RuneError:
			t.feed(utf8.AppendRune(nil, utf16.DecodeRune(high, unit)), place-2)
			continue
		case high != 0:
			t.feed([]byte("\uFFFD"), place-2)
		}
		if unit >= 0xd800 && unit < 0xdc00 {
			t.high = unit
			continue
		}
		t.feed(utf8.AppendRune(nil, unit), place)
	}
}

// feed takes text in UTF-8, or in bytes of any other kind.
func (t *Text) feed(text []byte, place int64) {
	for len(text) > 0 {
		n := t.next(text, place)
		text = text[n:]
		if t.coding == bytewise {
			place += int64(n)
		}
	}
}

// next takes the first bytes of a text, and says how many.
func (t *Text) next(text []byte, place int64) (taken int) {
	b := text[0]
	switch {
	case strings.IndexByte(Ends, b) >= 0:
		t.unmark()
		t.Take(text[:1], place)
		t.escape = plain
		t.begun = false
		return 1
	case !t.begun && b == mark[len(t.marked)]:
		if t.marked = append(t.marked, b); len(t.marked) == 1 {
			t.at = place
		}
		if len(t.marked) == len(mark) {
			t.marked = t.marked[:0]
			t.begun = true
		}
		return 1
	case !t.begun:
		t.unmark()
		t.begun = true
		return 0
	case b == 0:
		return 1
	case t.escape != plain:
		var of bool
		if t.escape, of = t.escape.next(b); of {
			return 1
		}
		return 0
	case b == '\x1b':
		t.escape = escaped
		return 1
	}
	end := bytes.IndexAny(text, stops)
	if end < 0 {
		end = len(text)
	}
	t.Take(text[:end], place)
	return end
}

// unmark hands on what is no byte order mark.
func (t *Text) unmark() {
	if len(t.marked) > 0 {
		t.Take(t.marked, t.at)
	}
	t.marked = t.marked[:0]
}
