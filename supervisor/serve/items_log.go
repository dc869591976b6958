package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"qb/api"
	"qb/internal/pause"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/gate"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
	"qb/supervisor/store/logstore"
)

type itemLogIn struct {
	Job     int64  `path:"job" minimum:"1" doc:"The job's id."`
	Item    string `path:"item" maxLength:"1024" doc:"The item's name."`
	Stream  string `query:"stream" enum:"stdout,stderr,both" default:"both" doc:"Both keeps the order in which they were written."`
	Attempt int    `query:"attempt" minimum:"0" doc:"0: the latest."`
	Offset  int64  `query:"offset" minimum:"0" doc:"Bytes of the stream to leave out."`
	Tail    int64  `query:"tail" minimum:"0" doc:"Only so many bytes of the stream at its end; 0: all after offset. With it the size of the stream is in Qb-Log-Size."`
	Limit   int64  `query:"limit" minimum:"0" doc:"Bytes at most; 0: all."`
	Follow  bool   `query:"follow" doc:"Wait for the first attempt to begin, and for more until it has ended."`
}

// answer is what a handler of a streaming endpoint returns: it writes the whole answer.
type answer func(w http.ResponseWriter, r *http.Request)

// output is the output of an attempt.
type output struct {
	id        facts.AttemptID
	job       gate.Job
	over      bool // the attempt has ended
	elsewhere bool // another supervisor may have it
}

var streams = map[string]byte{"stdout": logstore.StreamOut, "stderr": logstore.StreamErr, "both": logstore.StreamBoth}

// outputOf finds the attempt that is meant, if the caller may read its output; attempt 0 is the latest. With wait it
// may be yet to come.
func (s *itemService) outputOf(ctx context.Context, job int64, item string,
	attempt int, wait bool) (o output, err error) {
	v, err := s.readable(ctx, api.ItemLog, job, "item "+item)
	if err != nil {
		return o, err
	}
	a, err := s.agendas.Get(ctx, v)
	if err != nil {
		return o, err
	}
	number, ok := a.Find(item)
	if !ok {
		return o, api.Errorf(api.KindNotFound, "job %d has no item %q", job, problem.Clip(item))
	}
	latest, err := s.latest(ctx, v.ID, facts.ItemNo(number))
	if err != nil {
		return o, err
	}
	o = output{id: facts.AttemptID{Job: v.ID, Item: facts.ItemNo(number), Number: attempt}, job: gate.JobOf(v)}
	if attempt == 0 && latest != nil {
		o.id.Number = latest.Number
	}
	switch {
	case latest == nil && wait && attempt <= 1 && !v.State.Final():
		o.id.Number = 1
	case latest == nil:
		if o.id.Number, err = s.oldAttempt(ctx, o.id); err != nil {
			return o, err
		}
		if o.id.Number == 0 {
			return o, api.Errorf(api.KindNotFound, "item %q of job %d has not run yet", problem.Clip(item), job)
		}
	case o.id.Number > latest.Number:
		return o, api.Errorf(api.KindNotFound, "item %q of job %d has %d attempts, there is no attempt %d",
			problem.Clip(item), job, latest.Number, attempt)
	}
	if o.over = latest == nil || !latest.State.Live() || o.id.Number < latest.Number; o.over {
		var ended time.Time
		if latest != nil && o.id.Number == latest.Number {
			ended = latest.EndedAt
		}
		o.elsewhere, err = s.mayBeGone(ctx, o.id, item, ended)
	}
	return o, err
}

// readable is a job whose output the caller may read; that of others is audited, with which part of it.
func (s *itemService) readable(ctx context.Context, e api.Endpoint, job int64,
	part string) (v facts.JobFacts, err error) {
	if v, err = s.facts(ctx, facts.JobID(job)); err != nil {
		return v, err
	}
	if err := s.gate.MayJob(ctx, e, "", gate.JobOf(v)); err != nil {
		return v, err
	}
	if v.User != gate.PrincipalOf(ctx).User {
		s.readOthers(ctx, e, fmt.Sprintf("job %d %s", v.ID, problem.ClipTo(part, audit.MaxObject)))
	}
	return v, nil
}

// itemLog streams an attempt's output as plain text.
func (s *itemService) itemLog(ctx context.Context, in *itemLogIn) (answer, error) {
	o, err := s.outputOf(ctx, in.Job, in.Item, in.Attempt, in.Follow)
	if err != nil {
		return nil, err
	}
	want := streams[in.Stream]
	o.over = o.over && !in.Follow
	t := &tail{items: s, output: o, log: s.logs.Tail(o.id), demux: logstore.Demux{Want: want, Skip: in.Offset},
		follow: in.Follow, left: cmp.Or(in.Limit, math.MaxInt64), leave: func() {}}
	if in.Tail > 0 {
		if t.total, err = s.logs.Size(o.id, want); err != nil {
			return nil, err
		}
		t.demux.Skip = max(in.Offset, t.total-in.Tail)
	}
	if in.Follow {
		if t.leave, err = s.enter(ctx, s.followers, s.live.now.Load().TokenFollowed,
			"supervisor_token_followed_logs"); err != nil {
			return nil, err
		}
	}
	return t.serve, nil
}

// oldAttempt is the attempt meant of a job whose attempts are sums: the logs that are left know it. 0: there is none.
func (s *itemService) oldAttempt(ctx context.Context, id facts.AttemptID) (int, error) {
	past, err := s.past(ctx, id.Job)
	if err != nil || !past.Compacted {
		return 0, err
	}
	if id.Number > 0 {
		return id.Number, nil
	}
	last, err := s.logs.Last(id.Job, id.Item)
	return max(1, last), err
}

func (s *itemService) past(ctx context.Context, job facts.JobID) (store.Past, error) {
	past, err := s.reader.Past(ctx, job)
	return past, problem.Reading("what is left of a job", err)
}

// mayBeGone says of an attempt that has ended and has no log here that it was removed, if it was, and whether another
// supervisor may have it. What ended after the removal may be on its way.
func (s *itemService) mayBeGone(ctx context.Context, id facts.AttemptID, item string,
	ended time.Time) (elsewhere bool, err error) {
	f, err := s.logs.Read(id)
	if err != nil {
		return false, err
	}
	if f != nil {
		return false, f.Close()
	}
	past, err := s.past(ctx, id.Job)
	switch {
	case err != nil:
		return false, err
	case !past.LogsRemoved.IsZero() && !ended.After(past.LogsRemoved):
		return false, errLogsRemoved(fmt.Sprintf("the output of item %q of job %d", problem.Clip(item), id.Job),
			past.LogsRemoved)
	case past.Compacted:
		return false, api.Errorf(api.KindNotFound, "no output of attempt %d of item %q of job %d is kept", id.Number,
			problem.Clip(item), id.Job)
	}
	l := s.loop.Load()
	return l == nil || ended.Before(l.Began()), nil
}

// errLogsRemoved says that logs were there and are not any more.
func errLogsRemoved(what string, removed time.Time) error {
	return api.Errorf(api.KindNotFound,
		"%s was removed on %s, as logs are kept for supervisor_log_retention, or less when their disk is short of room",
		what, removed.UTC().Format("2006-01-02 15:04 UTC"))
}

// latest is an item's latest attempt, nil before the first.
func (s *itemService) latest(ctx context.Context, job facts.JobID, item facts.ItemNo) (*facts.AttemptFacts, error) {
	rows, err := s.reader.Latest(ctx, job, item, item)
	if err != nil {
		return nil, problem.Reading("an item's attempt", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return &rows[0], nil
}

// tail reads a log on as it grows.
type tail struct {
	output
	items  *itemService
	log    *logstore.Tail
	demux  logstore.Demux
	follow bool
	leave  func()    // gives the place among the followers back
	total  int64     // bytes of the stream, if its end is asked for
	left   int64     // bytes of the answer that may still be sent
	asked  time.Time // when the rows were last asked whether the attempt is over

	partial bool // there was a log without its last chunk
}

func (t *tail) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	setPlain(h)
	h.Set(api.AttemptHeader, strconv.Itoa(t.id.Number))
	if t.total > 0 {
		h.Set(api.LogSizeHeader, strconv.FormatInt(t.total, 10))
	}
	if t.elsewhere {
		h.Set(api.ElsewhereHeader, "true")
	}
	w.WriteHeader(http.StatusOK)
	defer t.leave()
	defer t.log.Close()
	control := http.NewResponseController(w)
	buf := make([]byte, 64<<10)
	holds := t.items.gate.Watch(r.Context(), streamHeartbeat, func(ctx context.Context) bool {
		// groups and the setting may have changed
		return !errors.As(t.items.gate.MayJob(ctx, api.ItemLog, "", t.job), new(*api.Error))
	})
	for holds() {
		// Asked before the read: what came before it is then read.
		partial := t.items.logs.Partial(t.id)
		over := !t.follow || t.finished(r.Context(), partial)
		n, err := t.log.Read(buf)
		if n > 0 {
			out, broken := t.demux.Feed(nil, buf[:n])
			out = out[:min(int64(len(out)), t.left)]
			t.left -= int64(len(out))
			_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a socket always can
			if _, err := w.Write(out); err != nil || broken != nil || t.left == 0 {
				return
			}
			continue
		}
		if err != nil || over {
			t.maybeTellCut(w, partial)
			return
		}
		if control.Flush() != nil || pause.For(r.Context(), followPoll) != nil {
			break
		}
	}
	panic(http.ErrAbortHandler) // the reader must not take this for the end of the log
}

// setPlain is for output, which is whatever a user's program wrote: a browser shows it as text, and runs nothing of it.
func setPlain(h http.Header) {
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("X-Accel-Buffering", "no")
}

// finished says whether nothing more will come: the last chunk has come meanwhile, or the attempt ended and its log is
// whole or has been quiet since.
func (t *tail) finished(ctx context.Context, partial bool) bool {
	if t.partial && !partial {
		return true
	}
	t.partial = partial
	if !t.over && time.Since(t.asked) >= 4*followPoll {
		t.asked = time.Now()
		latest, err := t.items.latest(ctx, t.id.Job, t.id.Item)
		if err != nil {
			return false
		}
		if latest == nil {
			v, err := t.items.job(ctx, t.id.Job)
			t.over = err == nil && v.State.Final()
		} else {
			t.over = latest.Number > t.id.Number || !latest.State.Live()
		}
		t.log.Grown = time.Now()
	}
	return t.over && (t.log.Size > 0 && !partial || time.Since(t.log.Grown) > followQuiet)
}

// maybeTellCut says at the end of what there is that it is not all that the item wrote.
func (t *tail) maybeTellCut(w io.Writer, partial bool) {
	switch {
	case t.log.Size >= logstore.MaxLog:
		_, _ = io.WriteString(w, "\n[qb: the log was cut here, at its limit]\n") // the reader may be gone
	case t.over && partial:
		_, _ = io.WriteString(w, "\n[qb: the item has ended, and the rest of its output has not arrived from its host]\n")
	}
}
