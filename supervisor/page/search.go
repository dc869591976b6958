package page

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	"qb/api"
	"qb/internal/patterns"
	"qb/supervisor/store/logstore"
)

const (
	piece = 256 << 10 // bytes that are read at once
	shown = 300       // bytes of a line that are shown
)

// A search reads a log as it was written, a piece at a time, and never holds more than two pieces of it. It looks
// through the text that the page shows (web/static/lines.js) and that a job's expressions see (patterns.Text). Places
// are bytes of the output as it was written. A line ends with a line feed, a carriage return or a backspace; nothing
// between two of them is a line if both are line feeds.

// LogQuery is what is looked for.
type LogQuery struct {
	Want byte   // a stream of package logstore
	Text string // not empty
	From int64  // byte of the stream where to begin
	Most int    // lines
	Time time.Duration
}

// search is a search under way.
type search struct {
	LogQuery
	reply     api.LogMatches
	text      patterns.Text
	held      []byte // text that was not looked through
	runs      []run  // of it
	let       int    // bytes of the text that were let go
	size      int64  // of the stream, as far as it was read
	line      int64  // of the first byte held, from 1
	lineBegin int64  // where that line begins
	before    byte   // what has ended the line before
	skip      bool   // the rest of the line: it is found already
}

// run is text whose bytes stand in the stream one behind the other, or in UTF-16 at one place.
type run struct {
	from  int // byte of the text
	place int64
}

// SearchLog finds the lines that have the text. It ends when there are enough, when its time is over, or with the log.
func SearchLog(ctx context.Context, log io.Reader, q LogQuery) (api.LogMatches, error) {
	s := &search{LogQuery: q, line: 1, before: '\n'}
	s.reply.Matches = []api.LogMatch{}
	s.text.Take = s.hold
	demux := logstore.Demux{Want: q.Want}
	raw := make([]byte, piece)
	output := []byte(nil)
	for end := time.Now().Add(q.Time); ; {
		n, err := log.Read(raw)
		if n > 0 {
			var broken error
			if output, broken = demux.Feed(output[:0], raw[:n]); broken != nil {
				err = io.EOF // as far as it can be read
			}
			s.text.Write(output)
			s.size += int64(len(output))
		}
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return s.reply, err
		}
		if last {
			s.text.End()
		}
		if s.look(last) {
			return s.reply, nil
		}
		if last {
			s.reply.Complete, s.reply.Next = true, s.size
			return s.reply, nil
		}
		if ctx.Err() != nil {
			return s.reply, ctx.Err()
		}
		if s.place(0) > q.From && !s.skip && time.Now().After(end) {
			s.reply.Next = s.place(0)
			return s.reply, nil
		}
	}
}

// hold takes text.
func (s *search) hold(text []byte, place int64) {
	from := s.let + len(s.held)
	s.held = append(s.held, text...)
	if n := len(s.runs); n == 0 || s.text.Unit > 1 || s.runs[n-1].place+int64(from-s.runs[n-1].from) != place {
		s.runs = append(s.runs, run{from, place})
	}
}

// place is the position of a held byte in the stream. For n after the last byte it is the end of the stream.
func (s *search) place(n int) int64 {
	if n == len(s.held) {
		return s.size
	}
	after, _ := slices.BinarySearchFunc(s.runs, s.let+n+1, func(r run, from int) int { return r.from - from })
	r := s.runs[after-1]
	if s.text.Unit > 1 {
		return r.place
	}
	return r.place + int64(s.let+n-r.from)
}

// look finds the text in the held bytes and drops them, except bytes that may begin a match or belong to one. It
// reports whether there are enough matches.
func (s *search) look(last bool) bool {
	keep := len(s.Text) - 1 + shown
	if last {
		keep = 0
	}
	until := len(s.held) - keep // finds begin before this
	if early := sort.Search(len(s.held), func(n int) bool { return s.place(n) >= s.From }); early > 0 {
		s.letGo(min(early, max(0, until)))
		if until -= early; until <= 0 {
			return false
		}
	}
	for until > 0 {
		if s.skip {
			end := bytes.IndexAny(s.held[:until], patterns.Ends)
			if end < 0 {
				s.letGo(until)
				return false
			}
			s.letGo(end + 1)
			until -= end + 1
			s.skip = false
			if len(s.reply.Matches) == s.Most {
				s.reply.Next = s.place(0)
				return true
			}
			continue
		}
		found := bytes.Index(s.held[:min(len(s.held), until+len(s.Text)-1)], []byte(s.Text))
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

// letGo of the first n bytes, whose lines are counted.
func (s *search) letGo(n int) {
	if s.lineBegin == 0 {
		s.lineBegin = int64(s.text.Mark)
	}
	for from := 0; ; {
		end := bytes.IndexAny(s.held[from:n], patterns.Ends)
		if end < 0 {
			break
		}
		from += end + 1
		at, kind := s.place(from-1), s.held[from-1]
		if at > s.lineBegin || kind == '\n' && s.before == '\n' {
			s.line++
		}
		s.before = kind
		s.lineBegin = at + s.text.Unit
	}
	s.held = s.held[n:]
	s.let += n
	after, _ := slices.BinarySearchFunc(s.runs, s.let+1, func(r run, from int) int { return r.from - from })
	s.runs = s.runs[max(0, after-1):] // one run can have text on both sides
}

// take notes the find at the begin of what is held.
func (s *search) take() {
	text := s.held[:min(len(s.held), shown)]
	if end := bytes.IndexAny(text, patterns.Ends); end >= 0 {
		text = text[:end]
	}
	s.reply.Matches = append(s.reply.Matches, api.LogMatch{Offset: s.place(0), Line: s.line, LineOffset: s.lineBegin,
		Text: strings.ToValidUTF8(string(text), "\uFFFD")})
}
