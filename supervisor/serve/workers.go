package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/time/rate"

	"qb/api"
	"qb/supervisor/access/gate"
	"qb/supervisor/access/limits"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/lead/termwatch"
	"qb/supervisor/store/endsaudit"
	"qb/supervisor/store/logstore"
	"qb/supervisor/wire/translate"
)

// workerService serves the agents: enrolment, syncs, and what they ship.
type workerService struct {
	*backend
	ends endsaudit.Audit
	pace *limits.Pace

	unverified, otherDatabases, outdated rate.Sometimes // warned of
}

func newWorkerService(b *backend) *workerService {
	return &workerService{
		backend: b, pace: limits.NewPace(), unverified: rate.Sometimes{Interval: time.Minute},
		otherDatabases: rate.Sometimes{Interval: time.Minute}, outdated: rate.Sometimes{Interval: time.Minute},
	}
}

func (s *workerService) register(rt *routes) {
	long := body(maxBody)
	mount(rt, api.Enrol, bounded(s.enrol), unchecked)
	mount(rt, api.SyncWorker, s.syncWorker, long, unchecked)
	// Logs are appended at the leader only, because logs are read from its folder.
	mount(rt, api.AppendLog, led(s.backend, s.appendLog), body(maxChunkBody), unchecked)
	mount(rt, api.AppendPicture, led(s.backend, s.appendPicture), body(maxPicture), unchecked)
	mount(rt, api.ShipEnds, led(s.backend, s.shipEnds), body(maxChunkBody), unchecked)
	mountStream(rt, api.ReadEnds, s.readEnds, "application/x-ndjson")
}

type syncIn struct{ Body api.Sync }

// syncWorker passes a worker's report to the farm and returns what should run.
func (s *workerService) syncWorker(ctx context.Context, in *syncIn) (*jsonOf[*api.SyncReply], error) {
	l, err := s.leading()
	if err != nil {
		return nil, err
	}
	if err := s.checkProtocol(in.Body.Host, in.Body.Protocol, in.Body.Version); err != nil {
		return nil, err
	}
	e, err := translate.ReadSync(&in.Body, l.Epoch, l.Now())
	if err != nil {
		return nil, err
	}
	if err := s.hearTerm(l, &in.Body); err != nil {
		return nil, err
	}
	e.Host.Key = gate.PrincipalOf(ctx).HostKey
	if e.Host.Key != "" && !s.gate.Holds(ctx) { // while its report was on the way the host was removed
		return nil, api.Errorf(api.KindUnauthorized,
			"the token of host %q was revoked; if the host was removed, join again with a line of qbadmin worker token",
			in.Body.Host)
	}
	s.metrics.Syncs.Inc()
	var reply *api.SyncReply
	if l.ReadOnly() {
		reply, err = s.syncReadOnly(ctx, l, e, &in.Body)
	} else {
		reply, err = s.askSync(ctx, l, e)
	}
	if err != nil {
		return nil, err
	}
	s.central.Configure(time.Now(), &in.Body, reply)
	reply.Now, reply.AskEnds = l.Now(), s.ends.Asks(in.Body.Host, time.Now())
	reply.PatienceSeconds = term.Patience(l.Lag()).Seconds()
	return &jsonOf[*api.SyncReply]{reply}, nil
}

// checkProtocol refuses a worker whose release is too far from this one. Nothing that it runs is ordered to stop: an
// upgrade of the worker leaves its shims alone, and what they hold longer than their lease is lost, uncharged.
func (s *workerService) checkProtocol(host string, protocol int, version string) error {
	err := api.CheckProtocol(api.Protocol, problem.Clip(host), protocol, problem.Clip(version))
	if err != nil {
		s.outdated.Do(func() { s.log.Warn("a worker's release is too far from this one; refused", "error", err) })
	}
	return err
}

func (s *workerService) askSync(ctx context.Context, l *term.Loop, e message.WorkerSynced) (*api.SyncReply, error) {
	body, err := l.AskSync(ctx, e.Hold+syncSlack, e)
	if err != nil {
		return nil, err
	}
	return translate.AnswerSync(body.(message.SyncReply), l.Watch.Term(), l.ProofAge())
}

// hearTerm compares the terms that a worker knows with the own one, before its report counts.
func (s *workerService) hearTerm(l *term.Loop, in *api.Sync) error {
	err := l.Hear(in)
	if host := l.Watch.Unverified(); host != "" {
		s.unverified.Do(func() {
			s.log.Warn("a worker reports a term that is not signed with this farm's key; ignored", "host", host,
				"epoch", in.Epoch)
		})
	}
	if errors.Is(err, termwatch.ErrOtherDatabase) {
		s.otherDatabases.Do(func() {
			s.log.Warn("host gets no items: hosts obey another database of this farm", "host", in.Host,
				"own_lineage", l.Watch.Term().Lineage, "why", l.Trouble(), "remark", l.Watch.Remark(in.Host))
		})
	}
	return err
}

// syncReadOnly answers a worker's sync in a read-only term: all that the rows know to run goes on with a full lease. Of
// the ends that it tells nothing is taken in; they stay listed, so that the worker keeps their records and tells them
// again. The first answer of the term comes at once: a worker that waits for it asks less often after each failure.
func (s *workerService) syncReadOnly(ctx context.Context, l *term.Loop, e message.WorkerSynced,
	in *api.Sync) (*api.SyncReply, error) {
	hold := min(e.Hold, readOnlyPace)
	if e.Registers {
		hold = 0
	}
	pace := time.NewTimer(hold)
	defer pace.Stop()
	select {
	case <-pace.C:
	case <-l.Over():
		return nil, termwatch.ErrTermEnds
	case <-ctx.Done():
		return nil, problem.ErrNoAnswer
	}
	reply, err := s.askSync(ctx, l, translate.ReadOnlySync(e))
	if err != nil {
		return nil, err
	}
	translate.KeepRecords(reply, in.Finished)
	l.Watch.Trim(reply, in)
	return reply, nil
}

type appendLogIn struct{ Body api.LogChunk }

// appendLog keeps a piece of an attempt's output, or of a session's log. Only attempts that were given out are taken.
func (s *workerService) appendLog(ctx context.Context, in *appendLogIn) (*jsonOf[api.LogReply], error) {
	if in.Body.Offset < 0 {
		return nil, problem.Invalid("offset", "%d cannot be", in.Body.Offset)
	}
	id, instance, err := s.mayAppend(ctx, in.Body.Attempt, in.Body.Session, len(in.Body.Data))
	if err != nil {
		return nil, err
	}
	size := int64(0)
	if id.Session {
		size, err = s.logs.AppendSession(id.AttemptID, instance, in.Body.Offset, in.Body.Data, in.Body.Final)
	} else {
		size, err = s.logs.Append(id.AttemptID, in.Body.Offset, in.Body.Data, in.Body.Final)
	}
	return &jsonOf[api.LogReply]{api.LogReply{Size: size}}, err
}

// mayAppend refuses output of attempts that cannot be or were not given to the caller's host, and more than a host may
// send.
func (s *workerService) mayAppend(ctx context.Context, attempt api.AttemptID, session bool,
	size int) (id logstore.ID, instance int, err error) {
	id = logstore.ID{AttemptID: translate.AttemptID(attempt), Session: session}
	if id.Job < 1 || id.Item < 0 || id.Item > math.MaxInt32 || id.Number < 1 || id.Number > math.MaxInt32 ||
		size > maxChunk {
		return id, 0, problem.Invalid("attempt", "job, item, attempt or length cannot be; a chunk has at most %d bytes",
			maxChunk)
	}
	if instance, err = s.mustBeGiven(ctx, id); err != nil {
		return id, 0, err
	}
	if key := gate.PrincipalOf(ctx).HostKey; key != "" {
		return id, instance, s.pace.TakeOutput(key, size, time.Now())
	}
	return id, instance, nil
}

// mustBeGiven refuses output of attempts that no row knows, or that were given to another host: disk space is for real
// ones. It returns the attempt's instance.
func (s *workerService) mustBeGiven(ctx context.Context, id logstore.ID) (instance int, err error) {
	hostKey := gate.PrincipalOf(ctx).HostKey
	if instance, ok := s.logs.Known(id, hostKey); ok {
		return instance, nil
	}
	rows, err := s.reader.Attempts(ctx, id.Job, facts.AttemptID{Item: id.Item, Number: id.Number - 1}, 1)
	if err != nil {
		return 0, problem.Reading("an attempt", err)
	}
	if len(rows) == 0 || rows[0].AttemptID != id.AttemptID {
		return 0, api.Errorf(api.KindNotFound, "attempt %d of item %d of job %d was never given out", id.Number, id.Item,
			id.Job)
	}
	now, a := time.Now(), rows[0]
	if err := s.mayShip(ctx, a); err != nil {
		return 0, err
	}
	what, ended := fmt.Sprintf("attempt %d of item %d of job %d", id.Number, id.Item, id.Job), a.EndedAt
	if id.Session { // its program has other items after this one
		v, err := s.facts(ctx, id.Job)
		if err != nil {
			return 0, err
		}
		if !v.LoadOnce() {
			return 0, api.Errorf(api.KindConflict, "job %d is not load-once and has no sessions", v.ID)
		}
		what, ended = fmt.Sprintf("job %d", v.ID), v.FinishedAt
	}
	if !ended.IsZero() && now.Sub(ended) > logsTaken {
		return 0, api.Errorf(api.KindConflict, "%s ended at %s; its output is taken for %s after that", what,
			ended.UTC().Format(time.RFC3339), logsTaken)
	}
	s.logs.Learn(id, a.Instance, hostKey, now.Add(logsLookAgain))
	return a.Instance, nil
}
