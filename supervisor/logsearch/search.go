// Package logsearch finds a text in the output of an attempt: whole logs, in bounded time and memory. It reads a log as it was
// written, a piece at a time, and never holds more than two pieces of it. Places are bytes of the output as it was
// written. A line ends with a line feed, a carriage return or a backspace, and nothing between two of them is a line if
// both are line feeds, as for the page (web/static/lines.js). Output that begins with a mark of UTF-16 is text in that
// encoding.
//
// Read: search.go.
package logsearch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"time"
	"unicode/utf16"

	"qb/api"
	"qb/patterns"
	"qb/supervisor/logstore"
)

const (
	piece = 256 << 10 // bytes that are read at once
	shown = 300       // bytes of a line that are shown
)

// Query is what is looked for.
type Query struct {
	Want byte   // a stream of package logstore
	Text string // not empty
	From int64  // byte of the stream where to begin
	Most int    // lines
	Time time.Duration
}

// search is a search under way.
type search struct {
	Query
	reply     api.LogMatches
	held      []byte // of the stream, from at on
	at        int64
	line      int64            // of the first byte held, from 1
	lineBegin int64            // where that line begins
	before    byte             // what has ended the line before
	skip      bool             // the rest of the line: it is found already
	begun     bool             // it is known whether the output is in UTF-16
	order     binary.ByteOrder // of UTF-16; nil: it is not
	text      []byte           // what is looked for, as the output has it
}

// Search finds the lines that have the text. It ends when there are enough, when its time is over, or with the log.
func Search(ctx context.Context, log io.Reader, q Query) (api.LogMatches, error) {
	s := &search{Query: q, line: 1, before: '\n'}
	s.reply.Matches = []api.LogMatch{}
	demux, raw := logstore.Demux{Want: q.Want}, make([]byte, piece)
	for end := time.Now().Add(q.Time); ; {
		n, err := log.Read(raw)
		if n > 0 {
			var broken error
			if s.held, broken = demux.Feed(s.held, raw[:n]); broken != nil {
				err = io.EOF // as far as it can be read
			}
		}
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return s.reply, err
		}
		if s.look(last) {
			return s.reply, nil
		}
		if last {
			s.reply.Complete, s.reply.Next = true, s.at+int64(len(s.held))
			return s.reply, nil
		}
		if ctx.Err() != nil {
			return s.reply, ctx.Err()
		}
		if s.at > q.From && time.Now().After(end) {
			s.reply.Next = s.at
			return s.reply, nil
		}
	}
}

// look finds the text in what is held and lets go of it, but for what may be the begin of a find or belongs to one. It says
// whether there are enough.
func (s *search) look(last bool) bool {
	if !s.begin(last) {
		return false
	}
	text := s.text
	keep := len(text) - 1 + shown
	if last {
		keep = 0
	}
	until := len(s.held) - keep // finds begin before this
	if early := s.From - s.at; early > 0 {
		s.letGo(s.whole(int(min(early, int64(max(0, until))))))
		if until = len(s.held) - keep; s.at < s.From {
			return false
		}
	}
	for until = s.whole(until); until > 0; {
		if s.skip {
			end, width := s.end(s.held[:until])
			if end < 0 {
				s.letGo(until)
				return false
			}
			s.letGo(end + width)
			until -= end + width
			s.skip = false
			if len(s.reply.Matches) == s.Most {
				s.reply.Next = s.at
				return true
			}
			continue
		}
		found := s.find(s.held[:min(len(s.held), until+len(text)-1)])
		if found < 0 {
			s.letGo(until)
			return false
		}
		s.letGo(found)
		until -= found
		s.take()
		s.skip = true
	}
	return false
}

// begin finds out how the output is written, once enough of it is there.
func (s *search) begin(last bool) bool {
	if s.begun {
		return true
	}
	if len(s.held) < 3 && !last {
		return false
	}
	s.begun = true
	s.text = []byte(s.Text)
	switch {
	case bytes.HasPrefix(s.held, []byte("\xff\xfe")):
		s.order = binary.LittleEndian
	case bytes.HasPrefix(s.held, []byte("\xfe\xff")):
		s.order = binary.BigEndian
	case bytes.HasPrefix(s.held, []byte("\xef\xbb\xbf")):
		s.lineBegin = 3
		return true
	default:
		return true
	}
	s.lineBegin = 2
	s.text = s.text[:0]
	for _, unit := range utf16.Encode([]rune(s.Text)) {
		s.text = binary.BigEndian.AppendUint16(s.text, unit)
	}
	if s.order == binary.LittleEndian {
		for n := 0; n < len(s.text); n += 2 {
			s.text[n], s.text[n+1] = s.text[n+1], s.text[n]
		}
	}
	return true
}

// whole is n without the half of a unit of UTF-16.
func (s *search) whole(n int) int {
	if s.order != nil {
		return n &^ 1
	}
	return n
}

// find is where the text begins in a part; -1: it does not.
func (s *search) find(part []byte) int {
	for from := 0; ; {
		n := bytes.Index(part[from:], s.text)
		if n < 0 {
			return -1
		}
		if at := from + n; s.whole(at) == at {
			return at
		}
		from += n + 1
	}
}

// end is where the first end of a line is in a part, and how many bytes it has; -1: there is none.
func (s *search) end(part []byte) (at, width int) {
	if s.order == nil {
		return bytes.IndexAny(part, patterns.Ends), 1
	}
	for n := 0; n+1 < len(part); n += 2 {
		if unit := s.order.Uint16(part[n:]); unit < 0x20 && strings.ContainsRune(patterns.Ends, rune(unit)) {
			return n, 2
		}
	}
	return -1, 2
}

// letGo of the first n bytes, whose lines are counted.
func (s *search) letGo(n int) {
	for part := s.held[:n]; ; {
		end, width := s.end(part)
		if end < 0 {
			break
		}
		at := s.at + int64(n-len(part)+end)
		kind := part[end] | part[end+width-1] // of a unit of UTF-16 the other byte is 0
		if at > s.lineBegin || kind == '\n' && s.before == '\n' {
			s.line++
		}
		s.before = kind
		s.lineBegin = at + int64(width)
		part = part[end+width:]
	}
	s.at += int64(n)
	s.held = s.held[n:]
}

// take notes the find at the begin of what is held.
func (s *search) take() {
	text := s.held[:s.whole(min(len(s.held), shown))]
	if end, _ := s.end(text); end >= 0 {
		text = text[:end]
	}
	if s.order != nil {
		units := make([]uint16, len(text)/2)
		for n := range units {
			units[n] = s.order.Uint16(text[2*n:])
		}
		text = []byte(string(utf16.Decode(units)))
	}
	s.reply.Matches = append(s.reply.Matches, api.LogMatch{Offset: s.at, Line: s.line, LineOffset: s.lineBegin, Text: strings.ToValidUTF8(string(text), "\uFFFD")})
}
