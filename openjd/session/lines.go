package session

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxLine  = 128 << 10 // bytes of a line that are read before it is masked
	maxShown = 64 << 10  // bytes of a line that are logged, and of a message
	maxCount = 10_000    // variables and secrets of one action
)

// lines reads the output of one action. A process that the action leaves behind may hold the pipe, so that it is read
// on after the action has ended, without regard to messages.
type lines struct {
	s    *Session
	run  actionRun
	pipe *os.File
	bad  chan struct{} // closed if the output breaks the rules of messages

	state    sync.Mutex
	reason   string // of a failure
	isBad    bool
	isClosed bool
	changes  int

	taken  atomic.Int64 // bytes that were read from the pipe
	served atomic.Int64 // bytes whose lines were served
	atEnd  chan struct{}
}

func (s *Session) readOutput(pipe *os.File, a actionRun) *lines {
	l := &lines{s: s, run: a, pipe: pipe, bad: make(chan struct{}), atEnd: make(chan struct{})}
	s.outputs = append(slices.DeleteFunc(s.outputs, (*lines).ended), l)
	s.readers.Go(func() {
		defer close(l.atEnd)
		defer pipe.Close()
		l.readAll()
	})
	return l
}

// ended says whether the pipe was read to its end.
func (l *lines) ended() bool {
	select {
	case <-l.atEnd:
		return true
	default:
		return false
	}
}

// counted counts the bytes that a reader takes from the pipe.
type counted struct{ l *lines }

func (c counted) Read(b []byte) (int, error) {
	n, err := c.l.pipe.Read(b)
	c.l.taken.Add(int64(n))
	return n, err
}

func (l *lines) readAll() {
	in := bufio.NewReaderSize(counted{l}, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		n := len(line)
		text := strings.TrimRight(string(line), "\r\n")
		whole := err == nil || !errors.Is(err, bufio.ErrBufferFull)
		if n > 0 {
			l.serve(text, whole)
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a line that is too long
			line, err = in.ReadSlice('\n')
			n += len(line)
		}
		l.served.Add(int64(n))
		if err != nil {
			return
		}
	}
}

// serve logs one line with secrets masked, and acts on it if it is a message.
func (l *lines) serve(line string, whole bool) {
	l.s.output.Lock()
	defer l.s.output.Unlock()
	shown, secret := l.s.secrets.secretLine(line)
	if !secret {
		shown = l.s.secrets.hide(line)
	}
	if len(shown) > maxShown {
		shown = shown[:maxShown] + " … the line is cut"
	}
	l.s.config.Log(strings.ToValidUTF8(shown, "�"))
	l.state.Lock()
	defer l.state.Unlock()
	if l.isClosed {
		return
	}
	m, found, err := parseMessage(line)
	if (found || err != nil) && (!whole || len(line) > maxShown) {
		if m.Kind == Progress || m.Kind == Status || m.Kind == Fail {
			m.Text = strings.ToValidUTF8(m.Text[:min(len(m.Text), maxShown)], "�")
		} else {
			err = errors.New("the line is too long for a variable; at most 65536 bytes are read")
		}
	}
	switch {
	case err != nil && m.Kind == secretVariable && l.s.redacted:
		l.s.config.Log(fmt.Sprintf("%v; no variable is set", err)) // as the reference implementation does
		return
	case err != nil:
		l.breakOff(err.Error())
		return
	}
	if found {
		l.take(m)
	}
}

// take acts on a message.
func (l *lines) take(m Message) {
	e := l.run.entering
	switch m.Kind {
	case Progress, Status:
		m.Text = l.s.secrets.hide(m.Text)
		l.s.config.Report(m)
		return
	case Fail:
		m.Text = l.s.secrets.hide(m.Text)
		l.reason = m.Text
		l.s.config.Report(m)
		return
	}
	l.changes++
	switch {
	case l.changes > maxCount:
		l.breakOff("the action changes more than 10000 variables")
	case e == nil: // variables are changed by onEnter alone
	case m.Kind == unsetVariable:
		e.unsets[m.name] = true
	case m.Kind == setVariable || l.s.redacted:
		e.sets[m.name] = m.Text
	}
}

// breakOff has the action fail.
func (l *lines) breakOff(reason string) {
	if l.reason == "" {
		l.reason = reason
	}
	if !l.isBad {
		l.isBad = true
		close(l.bad)
	}
}

// settle waits until all that the action has written before its end is read.
func (l *lines) settle() {
	const pause = 10 * time.Millisecond
	quiet := 0
	for deadline := time.Now().Add(10 * time.Second); quiet < 2 && time.Now().Before(deadline); {
		select {
		case <-l.atEnd:
			return
		case <-time.After(pause):
		}
		waiting, err := l.waiting()
		if err == nil && waiting == 0 && l.taken.Load() == l.served.Load() {
			quiet++
			continue
		}
		quiet = 0
	}
}

// waiting is the number of bytes in the pipe.
func (l *lines) waiting() (n int, err error) {
	raw, err := l.pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return n, errors.Join(failed, err)
}

// close ends the action's messages and says why it failed, if it did.
func (l *lines) close() (reason string) {
	l.state.Lock()
	defer l.state.Unlock()
	l.isClosed = true
	return l.reason
}

func (l *lines) broken() bool {
	l.state.Lock()
	defer l.state.Unlock()
	return l.isBad
}
