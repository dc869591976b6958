package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/internal/units"
)

const (
	mostLog  = 256 << 10 // bytes of an output that are held, its end
	logChunk = 64 << 10
	mostCut  = 4 << 10     // that are given up so that it begins with a whole line
	logAgain = time.Second // until an output that broke off is opened again
)

// logPage follows the output of one item.
type logPage struct {
	scroll
	job  int64
	item string

	ctx     context.Context
	cancel  context.CancelFunc
	opened  bool
	stream  io.ReadCloser
	attempt string
	offset  int64 // bytes that were read
	dropped bool  // the beginning is not held any more
	over    bool
	trouble string
	follow  bool // the end is shown

	clean  bytes.Buffer
	filter *output.TerminalFilter
	wide   int // the width that the lines below are wrapped for
	broken []string
}

type logArrived struct {
	page    *logPage
	stream  io.ReadCloser
	attempt string
	data    []byte
	err     error // io.EOF: the item has ended
}

type logRetryMsg struct{ page *logPage }

func newLogPage(m *model, job int64, item string) *logPage {
	p := &logPage{job: job, item: item, follow: true}
	p.ctx, p.cancel = context.WithCancel(m.ctx)
	p.filter = output.NewTerminalFilter(&p.clean)
	return p
}

func (p *logPage) close() {
	p.cancel()
	if p.stream != nil {
		_ = p.stream.Close() // what it still has is of no interest
	}
}

// refresh opens the output once; it then comes by itself.
func (p *logPage) refresh(m *model) tea.Cmd {
	if p.opened {
		return nil
	}
	p.opened = true
	return p.open(m)
}

func (p *logPage) open(m *model) tea.Cmd {
	farm := m.screen.Connect()
	params := jobParam(p.job)
	params["item"], params["follow"], params["stream"] = p.item, "true", "both"
	params["offset"] = strconv.FormatInt(p.offset, 10)
	if p.attempt != "" {
		params["attempt"] = p.attempt
	}
	return func() tea.Msg {
		resp, err := farm.Open(p.ctx, api.ItemLog, params, nil, http.Header{})
		if err != nil {
			return logArrived{page: p, err: err}
		}
		return logArrived{page: p, stream: resp.Body, attempt: resp.Header.Get(api.AttemptHeader)}
	}
}

func (p *logPage) read() tea.Cmd {
	stream := p.stream
	return func() tea.Msg {
		data := make([]byte, logChunk)
		n, err := stream.Read(data)
		return logArrived{page: p, data: data[:n], err: err}
	}
}

func (a logArrived) arrive(m *model) tea.Cmd {
	p := a.page
	if p.ctx.Err() != nil {
		if a.stream != nil {
			_ = a.stream.Close() // the page is closed
		}
		return nil
	}
	if a.stream != nil {
		p.stream = a.stream
		p.attempt = a.attempt
		p.trouble = ""
		return p.read()
	}
	if len(a.data) > 0 {
		p.offset += int64(len(a.data))
		_, _ = p.filter.Write(a.data) // to memory
		if less := p.clean.Len() - mostLog; less > 0 {
			p.clean.Next(less)
			if end := bytes.IndexByte(p.clean.Bytes(), '\n'); end >= 0 && end < mostCut {
				p.clean.Next(end + 1) // the rest of a line that was cut
			}
			p.dropped = true
		}
		p.broken = nil
	}
	if a.err == nil {
		return p.read()
	}
	if p.stream != nil {
		_ = p.stream.Close() // it has been read as far as it goes
		p.stream = nil
	}
	if errors.Is(a.err, io.EOF) {
		p.over = true
		return nil
	}
	p.trouble = a.err.Error()
	if kind := api.Refusal(a.err).Kind; kind != "" && kind != api.KindUnavailable {
		return nil
	}
	return m.screen.every(logAgain, logRetryMsg{p})
}

func (a logRetryMsg) arrive(m *model) tea.Cmd { return a.page.open(m) }

func (p *logPage) title(m *model) string {
	title := fmt.Sprintf("output of %d:%s", p.job, m.d.user(p.item))
	if p.attempt != "" {
		title += ", attempt " + m.d.user(p.attempt)
	}
	switch {
	case p.over:
		title += "  ended"
	case p.follow:
		title += "  following"
	}
	return title
}

func (p *logPage) hints(*model) string {
	return "esc back  q quit  ? help  arrows scroll  end follow"
}

func (p *logPage) key(_ *model, key string) tea.Cmd {
	p.steer(key)
	p.follow = p.top >= p.all-p.room
	return nil
}

var colours = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b\\[[0-9;:]*m")
})

func (p *logPage) lines(m *model, width, room int) []string {
	if p.broken == nil || p.wide != width {
		p.wide, p.broken = width, p.wrapped(m.d, width)
	}
	lines := p.broken
	if p.trouble != "" {
		lines = append(lines[:len(lines):len(lines)], wrap("-- "+m.d.user(p.trouble), width)...)
	}
	if p.follow {
		p.top = len(lines)
	}
	return p.show(lines, room)
}

// wrapped are the lines of the output, without colours and with what a carriage return has left of each.
func (p *logPage) wrapped(d drawing, width int) (lines []string) {
	if p.dropped {
		lines = append(lines, fmt.Sprintf("-- the last %s of %s", units.Size(mostLog), units.Size(p.offset)))
	}
	text := strings.TrimSuffix(colours().ReplaceAllString(p.clean.String(), ""), "\n")
	if text == "" && len(lines) == 0 {
		if p.over {
			return []string{"-- the item wrote nothing"}
		}
		return []string{"-- nothing yet"}
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		line = d.user(strings.ReplaceAll(line, "\t", "    "))
		if cells(line) <= width {
			lines = append(lines, line)
		} else {
			lines = append(lines, wrap(line, width)...)
		}
	}
	return lines
}
