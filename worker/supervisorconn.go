package worker

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"qb/api"
	"qb/api/pin"
	"qb/internal/statedir"
	"qb/worker/core"
	"qb/worker/shim"
)

// supervisorConn speaks to the supervisor: one sync at a time, beside a few that were given up for later ones, and logs
// on connections of their own, so that a long log never holds up a sync. A sync that is given up is not cancelled: that
// would cost its connection. The supervisor answers it when it reads the later one.
type supervisorConn struct {
	a      *agent
	syncs  []*api.Client
	logs   []*api.Client
	file   string        // of the token; empty: it was given otherwise
	at     atomic.Uint32 // which address is in use; moves on when one cannot be reached
	wait   sync.WaitGroup
	open   []openSync // that may still be answered, oldest first; used by the loop only
	newest atomic.Uint64

	audit atomic.Value // the last sync that was answered

	enrolling sync.Mutex
	pins      *pin.Set           // nil: the token says
	private   ed25519.PrivateKey // nil: this worker does not enrol
	own       ownToken
	enrolAt   time.Time // not before

	mu       sync.Mutex
	failing  bool
	lastTold time.Time

	lastRefused map[core.TermRefusal]time.Time // used by the loop only
}

var errSilent = errors.New("no answer in time")

// tellAgain is how often a lasting failure is logged.
const tellAgain = time.Minute

func newSupervisorConn(a *agent, addresses []string, token string, pins []string,
	trusted ...uint32) (*supervisorConn, error) {
	f := &supervisorConn{a: a, lastRefused: map[core.TermRefusal]time.Time{}}
	if len(pins) > 0 {
		f.pins = pin.NewSet(pins, nil)
	}
	for _, address := range addresses {
		for _, list := range []*[]*api.Client{&f.syncs, &f.logs} {
			client, err := api.NewClientTo(address, token, f.pins, trusted...)
			if err != nil {
				return nil, err
			}
			*list = append(*list, client)
		}
	}
	return f, nil
}

// openSync is a sync that may still be answered.
type openSync struct {
	ctx    context.Context
	cancel context.CancelFunc
}

func (f *supervisorConn) sync(s api.Sync) {
	f.open = slices.DeleteFunc(f.open, func(o openSync) bool { return o.ctx.Err() != nil })
	for len(f.open) >= core.OpenSyncs {
		f.open[0].cancel()
		f.open = f.open[1:]
	}
	ctx, cancel := context.WithCancel(f.a.ctx)
	f.open = append(f.open, openSync{ctx, cancel})
	f.newest.Store(s.Sequence)
	f.wait.Go(func() {
		defer cancel()
		var reply api.SyncReply
		f.enrol(ctx, f.at.Load())
		at, sent, err := f.callAny(ctx, s, &reply)
		if ctx.Err() != nil || err != nil && f.newest.Load() != s.Sequence { // what becomes of the later one counts
			return
		}
		if !errors.Is(err, context.Canceled) { // else another supervisor is to be asked, which looked like the leader
			f.logFailure(err)
		}
		if err != nil {
			f.renew(err)
			f.moveOn(at, err)
			f.a.post(core.Unanswered{Sequence: s.Sequence, Code: api.Refusal(err).Code})
			return
		}
		f.keepPins()
		f.a.ends.check(f.a.boot, sent, shim.BootNow(), reply.Now)
		f.shipEnds(reply.AskEnds)
		f.a.post(core.Answered{Sequence: s.Sequence, Reply: reply})
	})
}

// callAny sends a sync to the address in use, and at once to the next ones where none leads or listens: what waits
// longer after each failure waits for all addresses alike. It returns the last address and when the sync went there.
func (f *supervisorConn) callAny(ctx context.Context, s api.Sync,
	reply *api.SyncReply) (at uint32, sent core.Moment, err error) {
	for range f.syncs {
		at, sent = f.at.Load(), shim.BootNow()
		err = f.call(ctx, at, s, reply)
		if refusal := api.Refusal(err); ctx.Err() != nil || f.newest.Load() != s.Sequence || !refusal.Standby &&
			!refusal.Unsent {
			break
		}
		f.moveOn(at, err)
	}
	return at, sent, err
}

// leave drops all syncs. A supervisor that took them and stays silent may be stopped or cut off while another leads, so
// the next address is tried.
func (f *supervisorConn) leave() {
	f.next(f.at.Load())
	f.logFailure(errSilent)
	for _, o := range f.open {
		o.cancel()
	}
	f.open = nil
}

// refuse logs that an answer was ignored, each reason once a minute, and tries the next address.
func (f *supervisorConn) refuse(r core.RefusedTerm) {
	f.next(f.at.Load())
	if time.Since(f.lastRefused[r.Why]) < tellAgain {
		return
	}
	f.lastRefused[r.Why] = time.Now()
	f.a.log.Warn("ignored the supervisor's answer: its term is not valid for this worker", "reason", r.Why, "epoch",
		r.Epoch,
		"obeyed_epoch", r.Held.Epoch, "obeyed_lineage", r.Held.Lineage)
}

// next tries another address than this one, if no other call moved on already.
func (f *supervisorConn) next(at uint32) {
	f.at.CompareAndSwap(at, (at+1)%uint32(len(f.syncs)))
}

// moveOn does so if this one is unavailable.
func (f *supervisorConn) moveOn(at uint32, err error) {
	if api.Refusal(err).Kind == api.KindUnavailable {
		f.next(at)
	}
}

// renew reads the token's file again when the token was refused: tokens end, and the supervisor writes a new one in
// time. With it the worker enrols again.
func (f *supervisorConn) renew(err error) {
	if f.file == "" || api.Refusal(err).Kind != api.KindUnauthorized {
		return
	}
	token, err := readToken(f.file)
	if err != nil {
		f.a.log.Warn("reading the worker's token again", "error", err)
		return
	}
	f.enrolling.Lock()
	defer f.enrolling.Unlock()
	f.own.Token = ""
	f.use(token)
}

func readToken(file string) (string, error) {
	data, err := statedir.ReadRegular(file)
	if err != nil {
		return "", fmt.Errorf("reading worker_token_file: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

func (f *supervisorConn) appendLog(ctx context.Context, chunk api.LogChunk) (int64, error) {
	var reply api.LogReply
	err := f.logs[f.at.Load()].Call(ctx, api.AppendLog, nil, chunk, &reply)
	return reply.Size, err
}

func (f *supervisorConn) appendPicture(ctx context.Context, p api.Picture) error {
	return f.logs[f.at.Load()].Call(ctx, api.AppendPicture, nil, p, &struct{}{})
}

// logFailure logs the first failure, a lasting one now and then, and the end of it.
func (f *supervisorConn) logFailure(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
		if f.failing {
			f.a.log.Info("the supervisor answers again")
		}
		f.failing = false
	case !f.failing || time.Since(f.lastTold) > tellAgain:
		f.failing, f.lastTold = true, time.Now()
		if api.Refusal(err).Code == api.CodeNameTaken {
			f.a.log.Warn("another worker has the name or key of this worker; the items here are frozen until the other worker is stopped or renamed (worker_name)", "host", f.a.config.Name, "error", err)
			return
		}
		f.a.log.Warn("the supervisor does not accept the worker's report; items continue until their lease ends", "error",
			err)
	}
}
