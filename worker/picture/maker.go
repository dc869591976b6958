package picture

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"syscall"
	"time"

	"qb/api"
	"qb/internal/limitwriter"
	"qb/internal/pause"
	"qb/worker/proc"
)

// Request is an attempt that is done, and its output files.
type Request struct {
	Attempt api.AttemptID
	Files   []string
	Dir     string
	Owner   *syscall.Credential // nil: as the agent itself
	Env     []string
}

// Maker makes pictures of what items have written, one after the other, and ships them.
type Maker struct {
	Program   []string // path and arguments that run Main, without Word
	Converter []string
	Room      func() bool // whether the host has memory for it
	Ship      func(context.Context, api.Picture) error

	orders *queue
	limit  time.Duration // of one picture
}

const (
	shipTries = 3
	shipFor   = 10 * time.Second
	shipPause = 5 * time.Second
	endFor    = 5 * time.Second // for a child that was killed

	// MostFiles is how many of an item's files are tried.
	MostFiles = 256

	// Room is the memory that must be free on the host.
	Room = memoryLimit
)

// NewMaker makes a Maker that waits to be run.
func NewMaker(program, converter []string, room func() bool, ship func(context.Context, api.Picture) error) *Maker {
	proc.CloseInherited()
	return &Maker{Program: program, Converter: converter, Room: room, Ship: ship, orders: newQueue(), limit: timeLimit}
}

// Add never waits. It says whether there is a place for the order.
func (m *Maker) Add(t Request) bool {
	return m.orders.add(t)
}

// Run makes pictures until ctx ends.
func (m *Maker) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.orders.wake:
		}
		for t, ok := m.orders.next(); ok && ctx.Err() == nil; t, ok = m.orders.next() {
			answer := Answer{Code: api.PictureMemory}
			if m.Room() {
				answer = m.make(ctx, t)
			}
			m.ship(ctx, api.Picture{Attempt: t.Attempt, Code: answer.Code, Data: answer.Data})
		}
	}
}

// ship tries a few times. What is lost is lost.
func (m *Maker) ship(ctx context.Context, p api.Picture) {
	for range shipTries {
		sending, cancel := context.WithTimeout(ctx, shipFor)
		err := m.Ship(sending, p)
		cancel()
		if err == nil || api.Refusal(err).Kind != api.KindUnavailable || pause.For(ctx, shipPause) != nil {
			return
		}
	}
}

// make asks a child that has the owner's identity, and ends it and what it started when it takes too long.
func (m *Maker) make(ctx context.Context, t Request) Answer {
	asked, _ := json.Marshal(Ask{t.Dir, t.Files, m.Converter}) // texts: it cannot fail
	said := &limitwriter.Buffer{Most: 2*api.MaxPicture + 1024}
	child := &exec.Cmd{
		Path: m.Program[0], Args: append(append([]string{}, m.Program[1:]...), Word), Env: t.Env, Dir: "/",
		Stdin: bytes.NewReader(asked), Stdout: said, WaitDelay: time.Second,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Credential: t.Owner},
	}
	if err := child.Start(); err != nil {
		return Answer{Code: api.PictureFailed}
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	select {
	case err := <-ended:
		var answer Answer
		if err != nil || json.Unmarshal(said.Bytes(), &answer) != nil || len(answer.Data) > api.MaxPicture ||
			(len(answer.Data) == 0) == (answer.Code == "") {
			return Answer{Code: api.PictureFailed}
		}
		return answer
	case <-time.After(m.limit):
	case <-ctx.Done():
	}
	// with what it started; it may just have ended, but a number is not given again that soon
	_ = syscall.Kill(-child.Process.Pid, syscall.SIGKILL)
	select {
	case <-ended:
	case <-time.After(endFor): // a file system that does not answer holds it
		m.orders.stick(t, ended)
	case <-ctx.Done():
	}
	return Answer{Code: api.PictureTime}
}
