package serve

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/credentials"
	"qb/supervisor/access/gate"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/wire/settings"
	"qb/supervisor/wire/translate"
)

const (
	enrolClock    = time.Hour        // by which a worker's clock may differ
	logsTaken     = time.Hour        // after an attempt's end, for its output
	logsLookAgain = 10 * time.Minute // whose output it is
)

// enrolPace bounds the rows that a shared token can make.
var enrolPace = rate.NewLimiter(20, 2000)

type enrolIn struct{ Body api.Enrolment }

// enrol gives a worker that holds a private key a token that is good for the host with that key alone. Who has the name
// is decided at its first sync, as for all workers.
func (s *workerService) enrol(ctx context.Context, in *enrolIn) (*jsonOf[api.EnrolReply], error) {
	e, p := &in.Body, gate.PrincipalOf(ctx)
	hostKey := hex.EncodeToString(e.PublicKey)
	if err := s.checkProtocol(e.Host, e.Protocol, e.Version); err != nil {
		return nil, err
	}
	if err := cmp.Or(translate.CheckName("host", e.Host), translate.CheckName("machine_id", e.MachineID),
		translate.CheckName("state_id", e.StateID)); err != nil {
		return nil, err
	}
	if off := time.Since(time.Unix(e.Time, 0)).Abs(); off > enrolClock {
		return nil, problem.Invalid("time", "the worker's clock is off by %s; set it, an hour is the most",
			off.Round(time.Minute))
	}
	if len(e.PublicKey) != ed25519.PublicKeySize || !ed25519.Verify(e.PublicKey, e.Signed(), e.Signature) {
		return nil, problem.Invalid("signature", "it was not made with the key of public_key")
	}
	if p.HostKey != "" && p.HostKey != hostKey {
		return nil, api.Errorf(api.KindForbidden,
			"this token is bound to another host; enrol with a token that is bound to none, such as worker.token")
	}
	if err := s.nameOfAnother(ctx, e, p, hostKey); err != nil {
		return nil, err
	}
	if !enrolPace.Allow() {
		return nil, api.Errorf(api.KindUnavailable, "too many workers enrol at a time; try again in a moment")
	}
	want := credentials.Request{
		User: p.User, Role: api.Worker, Days: min(settings.TokenDays, s.live.now.Load().TokenDays), HostKey: hostKey,
		Audit: func(object string, detail any) []facts.AuditFacts {
			return audit.Of(ctx).Made(problem.ClipTo(object+" of host "+e.Host, audit.MaxObject), detail)
		},
	}
	if p.Exchange && s.live.now.Load().ApproveHosts {
		wait, err := credentials.MustWait(ctx, s.gate.Key, s.reader, s.gate.Tokens.Waiting(s.gate.Key, time.Now()), hostKey)
		if err != nil {
			return nil, err
		}
		if wait {
			want = want.Wait(e.Host)
		}
	}
	text, t, err := s.issue(ctx, p.Token, want)
	if errors.Is(err, credentials.ErrUsedUp) {
		return nil, api.Errorf(api.KindForbidden,
			"token %s is used up: as many hosts have joined by it as it was made for; an admin makes another with qbadmin worker token -uses N",
			p.Token)
	}
	if err != nil {
		return nil, err
	}
	s.log.Info("worker enrolled", "host", e.Host, "machine", facts.Short(e.MachineID), "key", facts.Short(hostKey),
		"token", t.ID, "waits", t.Pending != "")
	return &jsonOf[api.EnrolReply]{api.EnrolReply{Token: text, ExpiresAt: t.ExpiresAt}}, nil
}

// nameOfAnother refuses a worker on another machine than the living host of its name, before it takes a use of its
// token. All other claims of a name are judged at the first sync.
func (s *workerService) nameOfAnother(ctx context.Context, e *api.Enrolment, p credentials.Principal,
	hostKey string) error {
	h := s.host(e.Host)
	if h == nil || p.HostKey != "" || h.Key == "" || h.Key == hostKey || h.MachineID == e.MachineID ||
		h.State != "up" && h.State != "locked" {
		return nil
	}
	return &api.Error{Kind: api.KindConflict, Code: api.CodeNameTaken, Text: fmt.Sprintf(
		"host name %q is taken by %s; machine %s (key %s, from %s) asks for it too: start this worker with a name of its own (qb worker -name), or, if it replaces the other, run qbadmin worker -remove %s first",
		e.Host, h.Whereabouts(), facts.Short(e.MachineID), facts.Short(hostKey),
		factsOfRequest(ctx, api.Enrol).Origin, e.Host)}
}

// mayShip refuses output of an attempt that was not given to the token's host: known by the host's name, or, if that is
// gone, by the state folder, which keeps its id when the host is renamed. A token that is bound to no host is good for
// hosts that have not enrolled.
func (s *workerService) mayShip(ctx context.Context, a facts.AttemptFacts) error {
	key := gate.PrincipalOf(ctx).HostKey
	view := s.view.Load()
	if view == nil {
		return problem.ErrStalled
	}
	own := key == ""
	for h := range view.AllHosts() {
		switch {
		case h.ID == a.Host:
			if h.Key == key {
				return nil
			}
			return errOtherHost
		case key == "" && h.Key != "" && h.StateID == a.StateID:
			own = false
		case key != "" && h.Key == key && h.StateID == a.StateID:
			own = true // the attempt ended under the host's former name
		}
	}
	if own {
		return nil
	}
	return errOtherHost
}

var errOtherHost = api.Errorf(api.KindForbidden,
	"this token is bound to another host than the one that the attempt was given to")

// isHost refuses a worker that speaks for another host than its token's.
func (s *workerService) isHost(ctx context.Context, name string) error {
	if h := s.host(name); h != nil && h.Key != gate.PrincipalOf(ctx).HostKey {
		return errOtherHost
	}
	return nil
}
