// Package logsearch finds a text in the output of an attempt: whole logs, in bounded time and memory. It reads a log as it was
// written, a piece at a time, and never holds more than two pieces of it.
//
// Read: search.go.
package logsearch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"qb/api"
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
	line      int64 // of the first byte held, from 1
	lineBegin int64 // where that line begins
	skip      bool  // the rest of the line: it is found already
}

// Search finds the lines that have the text. It ends when there are enough, when its time is over, or with the log.
func Search(ctx context.Context, log io.Reader, q Query) (api.LogMatches, error) {
	s := &search{Query: q, line: 1}
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
	keep := len(s.Text) - 1 + shown
	if last {
		keep = 0
	}
	until := len(s.held) - keep // finds begin before this
	if early := s.From - s.at; early > 0 {
		s.letGo(int(min(early, int64(max(0, until)))))
		if until = len(s.held) - keep; s.at < s.From {
			return false
		}
	}
	text := []byte(s.Text)
	for until > 0 {
		if s.skip {
			end := bytes.IndexByte(s.held[:until], '\n')
			if end < 0 {
				s.letGo(until)
				return false
			}
			s.letGo(end + 1)
			until, s.skip = until-end-1, false
			if len(s.reply.Matches) == s.Most {
				s.reply.Next = s.at
				return true
			}
			continue
		}
		found := bytes.Index(s.held[:min(len(s.held), until+len(text)-1)], text)
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
	part := s.held[:n]
	if end := bytes.LastIndexByte(part, '\n'); end >= 0 {
		s.line += int64(bytes.Count(part, []byte{'\n'}))
		s.lineBegin = s.at + int64(end) + 1
	}
	s.at += int64(n)
	s.held = s.held[n:]
}

// take notes the find at the begin of what is held.
func (s *search) take() {
	text := s.held[:min(len(s.held), shown)]
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		text = text[:end]
	}
	s.reply.Matches = append(s.reply.Matches, api.LogMatch{Offset: s.at, Line: s.line, LineOffset: s.lineBegin, Text: strings.ToValidUTF8(string(text), "\uFFFD")})
}
