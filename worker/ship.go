package worker

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/worker/shim"
)

// Waits and sizes of the shipper.
const (
	shipEvery    = 300 * time.Millisecond
	shipRetryMax = 5 * time.Second
	shipWait     = 5 * time.Second // for the rest of a log before its item's end is reported
	shipTimeout  = 30 * time.Second
	chunkSize    = 1 << 20
	shipsAtOnce  = 4
	shipSlow     = time.Second // a send that takes longer leaves its place to another
	slowAtOnce   = 60          // while there are fewer such; a chunk of memory each
	shipLasting  = time.Minute // of failures: then it is logged
	shipHopeless = 10 * time.Minute
)

// logID names a log: the output of an attempt or, with session, what the programs of an instance that began with that
// attempt write between two items.
type logID struct {
	api.AttemptID
	session bool
}

func (id logID) String() string {
	if id.session {
		return shim.AttemptName(id.AttemptID) + " (session)"
	}
	return shim.AttemptName(id.AttemptID)
}

// shipper sends each log while it grows and the rest after its end, and then removes the file.
// It resumes at the size that the supervisor says it holds.
type shipper struct {
	ctx    context.Context
	send   func(context.Context, api.LogChunk) (int64, error)
	path   func(logID) string
	log    *slog.Logger
	places chan struct{}
	slow   chan struct{} // the places of sends that hang

	hopelessAfter time.Duration // of refusals that do not pass, of a log that ended

	mu   sync.Mutex
	logs map[logID]*shipment
	told time.Time // when a lasting failure was logged
	wait sync.WaitGroup
}

type shipment struct {
	id     logID
	path   string
	ended  chan struct{} // closed when nothing is written any more
	end    func()        // closes it, once
	done   chan struct{} // closed when the supervisor has all
	offset int64         // held by the supervisor
	bound  int64         // where a piece of the log begins, at or before offset

	failing time.Time // since when each try fails; zero: the last one did not
}

func newShipper(ctx context.Context, log *slog.Logger, path func(logID) string,
	send func(context.Context, api.LogChunk) (int64, error)) *shipper {
	return &shipper{ctx: ctx, send: send, path: path, log: log, places: make(chan struct{}, shipsAtOnce),
		slow: make(chan struct{}, slowAtOnce), hopelessAfter: shipHopeless, logs: map[logID]*shipment{}}
}

// follow ships what there is from now on.
func (s *shipper) follow(id logID) *shipment {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh := s.logs[id]; sh != nil {
		return sh
	}
	ended := make(chan struct{})
	sh := &shipment{id: id, path: s.path(id), ended: ended, end: sync.OnceFunc(func() { close(ended) }),
		done: make(chan struct{})}
	s.logs[id] = sh
	s.wait.Go(func() { s.run(sh) })
	return sh
}

// finish ships the rest, and calls then when that is done or has taken long enough.
func (s *shipper) finish(id logID, then func()) {
	sh := s.follow(id)
	sh.end()
	if info, err := os.Stat(sh.path); errors.Is(err, fs.ErrNotExist) || err == nil &&
		(info.Size() == 0 || !info.Mode().IsRegular()) {
		then() // most short items say nothing
		return
	}
	s.wait.Go(func() {
		select {
		case <-sh.done:
		case <-time.After(shipWait):
		case <-s.ctx.Done():
		}
		then()
	})
}

func (s *shipper) run(sh *shipment) {
	ended, pause := sh.ended, shipEvery
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ended:
			ended = nil
		case <-time.After(pause):
		}
		all, err := s.catchUp(sh, ended == nil)
		switch {
		case all:
			s.remove(sh)
			return
		case err == nil:
			pause, sh.failing = shipEvery, time.Time{}
		case s.hopeless(sh, err, ended == nil):
			s.log.Warn("the supervisor refuses a log; the worker deletes it", "attempt", sh.id, "error", err)
			s.remove(sh)
			return
		default:
			s.noteFailure(sh, err)
			pause = min(2*pause, shipRetryMax)
		}
	}
}

// noteFailure logs that one log has failed for a while, for all of them once in that time.
func (s *shipper) noteFailure(sh *shipment, err error) {
	s.log.Debug("a log cannot be sent to the supervisor; will retry", "attempt", sh.id, "error", err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(sh.failing) > shipLasting && time.Since(s.told) > shipLasting {
		s.told = time.Now()
		s.log.Warn("output cannot be sent to the supervisor; will retry", "attempt", sh.id, "since",
			sh.failing.UTC().Format(time.RFC3339), "error", err)
	}
}

func (s *shipper) remove(sh *shipment) {
	os.Remove(sh.path)
	s.mu.Lock()
	delete(s.logs, sh.id)
	s.mu.Unlock()
	close(sh.done)
}

// catchUp sends what the supervisor lacks; all says that nothing will ever be missing.
func (s *shipper) catchUp(sh *shipment, ended bool) (all bool, err error) {
	file, err := shim.OpenFile(sh.path, unix.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return ended, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	for {
		info, err := file.Stat()
		if err != nil {
			return false, err
		}
		size := info.Size()
		if !info.Mode().IsRegular() {
			size = 0 // no one wrote a log there
		}
		if sh.offset >= size && (!ended || size == 0) {
			return ended, nil
		}
		end := size // of a log that ended, also what is torn
		if !ended || size-sh.offset > chunkSize {
			if end, err = sh.wholePieces(file, size); err != nil || end <= sh.offset {
				return false, err
			}
		}
		held, err := s.ship(sh, file, end, ended && end == size)
		if err != nil {
			return false, err
		}
		if held < sh.bound {
			sh.bound = 0
		}
		sh.offset = held
		if ended && end == size && held >= size {
			return true, nil
		}
	}
}

func (s *shipper) ship(sh *shipment, file *os.File, end int64, final bool) (int64, error) {
	leave, err := s.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	data := make([]byte, max(0, end-sh.offset))
	if _, err := file.ReadAt(data, sh.offset); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, shipTimeout)
	defer cancel()
	return s.send(ctx, api.LogChunk{Attempt: sh.id.AttemptID, Session: sh.id.session,
		Offset: sh.offset, Data: data, Final: final})
}

// enter waits for a place to send from. A send that hangs moves aside after a moment, so that it does not hold up the
// logs of others, nor the ends that wait for these.
func (s *shipper) enter() (leave func(), err error) {
	select {
	case s.places <- struct{}{}:
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
	var mu sync.Mutex
	place, left := s.places, false
	aside := time.AfterFunc(shipSlow, func() {
		mu.Lock()
		defer mu.Unlock()
		if left {
			return
		}
		select {
		case s.slow <- struct{}{}:
			<-place
			place = s.slow
		default: // too many hang: the next ones wait
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		aside.Stop()
		left = true
		<-place
	}, nil
}

// hopeless says whether a log that has ended will never be taken: at once if the supervisor does not know the attempt,
// and after a while if it refuses it each time or the log cannot be read. That no supervisor answers, that it has no
// space or that the worker's token does not count passes, however long it takes.
func (s *shipper) hopeless(sh *shipment, err error, ended bool) bool {
	if sh.failing.IsZero() {
		sh.failing = time.Now()
	}
	switch api.Refusal(err).Kind {
	case api.KindNotFound:
		return ended
	case api.KindUnavailable, api.KindLimit, api.KindUnauthorized, api.KindInternal:
		return false
	}
	return ended && s.ctx.Err() == nil && time.Since(sh.failing) >= s.hopelessAfter
}

// wholePieces finds the end of the last whole piece that fits into a chunk from the offset.
func (sh *shipment) wholePieces(file *os.File, size int64) (int64, error) {
	reader := bufio.NewReaderSize(io.NewSectionReader(file, sh.bound, size-sh.bound), 64<<10)
	at := sh.bound
	for {
		var header [shim.HeaderSize]byte
		if _, err := io.ReadFull(reader, header[:]); err != nil {
			break
		}
		next := at + shim.HeaderSize + int64(binary.LittleEndian.Uint32(header[1:]))
		if next > size || next-sh.offset > chunkSize {
			break
		}
		if _, err := reader.Discard(int(next - at - shim.HeaderSize)); err != nil {
			return 0, err
		}
		at = next
	}
	sh.bound = at
	if at <= sh.offset && size-sh.offset > chunkSize { // not our format: send it as it is
		return sh.offset + chunkSize, nil
	}
	return at, nil
}
