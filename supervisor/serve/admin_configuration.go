package serve

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"qb/api"
	"qb/internal/statedir"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/gate"
	"qb/supervisor/farm/central"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/settings"
	"qb/supervisor/wire/translate"
)

// Reloaded is a configuration that was read again.
type Reloaded struct {
	Config  settings.Config
	Workers *central.Sections // settings of workers; nil: there is no file
	File    string            // that it came from; "" if there is none
	Remarks []string          // what beside the supervisor's keys has changed and needs a restart
}

// liveConfig is the configuration in force. It outlives terms: what was read again holds in all later ones.
type liveConfig struct {
	now    atomic.Pointer[settings.Config]
	listen string                   // the address that is open, with the port that it has
	reload func() (Reloaded, error) // nil: there is nothing to read again
	one    sync.Mutex               // one reading at a time, so that the last one read is the one in force
	led    *settings.Config         // with which the present term was rebuilt; the term's goroutine only
}

// policy is what a term that begins now goes by.
func (c *liveConfig) policy() message.Policy {
	c.led = c.now.Load()
	return c.led.Policy()
}

// catchUp tells a loop that was just opened of a configuration that came in while its term was rebuilt: who
// read it found no loop to tell.
func (c *liveConfig) catchUp(tell func(message.Event) bool) {
	if now := c.now.Load(); now != c.led {
		tell(message.PolicyChanged{Policy: now.Policy()}) // a fresh inbox has room
	}
}

func (s *adminService) reread(ctx context.Context, _ *nothing) (*jsonOf[api.RereadReply], error) {
	reply, err := s.readAgain(ctx, gate.PrincipalOf(ctx).User)
	return &jsonOf[api.RereadReply]{reply}, err
}

// readAgain takes the configuration into force, or says what is wrong with it and leaves the old one.
func (s *adminService) readAgain(ctx context.Context, by string) (reply api.RereadReply, err error) {
	s.live.one.Lock()
	defer s.live.one.Unlock()
	if s.live.reload == nil {
		return reply, api.Errorf(api.KindConflict,
			"this supervisor was started without a configuration that could be read again; restart it")
	}
	got, err := s.live.reload()
	if err == nil {
		err = got.Config.Validate()
	}
	if err != nil {
		s.log.Error("configuration reload failed; the old configuration stays in force", "by", by, "error", err)
		return reply, api.Errorf(api.KindInvalid, "the old configuration stays in force: %v", err)
	}
	changed, kept := settings.Changed(*s.live.now.Load(), s.cfg, got.Config)
	reply = api.RereadReply{File: got.File, Changed: translate.OrEmpty(changed), Remarks: []string{}}
	for _, key := range kept {
		reply.Remarks = append(reply.Remarks, key+" has changed: a restart of the supervisor takes it")
	}
	reply.Remarks = append(reply.Remarks, got.Remarks...)
	was := s.live.now.Load()
	audit.Of(ctx).Changes("configuration", settings.Values(*was, changed), settings.Values(got.Config, changed))
	s.live.now.Store(&got.Config)
	if was := s.central.File.Swap(got.Workers); !was.Same(got.Workers) {
		reply.Changed = append(reply.Changed, "settings of workers")
	}
	remarks, err := s.applyPolicy(ctx, got.Config.Policy(), by)
	if err != nil {
		return reply, err
	}
	reply.Remarks = append(reply.Remarks, remarks...)
	s.log.Info("configuration reloaded", "by", by, "file", reply.File, "changed", reply.Changed, "remarks", reply.Remarks)
	return reply, nil
}

// supervisorConfiguration shows what this process uses: of options, the environment and the file, as they were when it
// read them.
func (s *adminService) supervisorConfiguration(context.Context, *nothing) (*jsonOf[api.SupervisorSettings], error) {
	reply, err := translate.InForce(s.leader.own, s.live.listen, s.cfg, *s.live.now.Load())
	return &jsonOf[api.SupervisorSettings]{reply}, err
}

// applyPolicy puts the policy into force in the term that is led now; without one, the next begins with it.
func (s *adminService) applyPolicy(ctx context.Context, p message.Policy, by string) ([]string, error) {
	l := s.loop.Load()
	if l == nil {
		s.audit.Changed(audit.Of(ctx))
		return []string{"this supervisor does not lead now; it goes by what was read when it does"}, nil
	}
	body, err := l.Ask(ctx, func(t outbox.Ticket) message.Event {
		return message.PolicyChanged{Ticket: t, Policy: p, By: by}
	})
	if err != nil {
		return nil, fmt.Errorf(
			"the configuration was read and later terms go by it, but the present one has not confirmed it: %w", err)
	}
	return body.(message.PolicyReply).Remarks, nil
}

// rereadOn reads again at each hangup until ctx ends. What comes of it is in the log, and in the audit trail as a
// change by the account of this process: only that and root may send it signals.
func (s *adminService) rereadOn(ctx context.Context, hangup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			note := &audit.Note{}
			note.Begin(facts.AuditFacts{At: time.Now(), Who: statedir.OwnName(), Origin: "SIGHUP", Verb: api.Reread.ID})
			if _, err := s.readAgain(audit.With(ctx, note), "SIGHUP"); err != nil {
				s.log.Warn("cannot reload the configuration", "error", err)
			}
		}
	}
}

type mailTestIn struct{ Body api.MailTest }

// testMail sends a mail by the settings of the leader, who sends all others.
func (s *adminService) testMail(ctx context.Context, in *mailTestIn) (*jsonOf[api.MailTestReply], error) {
	if set := s.mail.Settings(); !set.On() {
		return nil, api.Errorf(api.KindConflict,
			"this farm has no mail server: set mail_host in qb.conf, then qbadmin supervisor -reread")
	}
	if err := facts.CheckAddress(in.Body.Address); err != nil {
		return nil, &api.Error{Kind: api.KindInvalid, Member: "address",
			Text: fmt.Sprintf("address %.60q: %v", in.Body.Address, err)}
	}
	n := audit.Of(ctx)
	n.On("mail to "+in.Body.Address, nil)
	done, err := s.mail.Test(ctx, in.Body.Address)
	s.audit.Changed(n)
	return &jsonOf[api.MailTestReply]{api.MailTestReply(done)}, err
}

func (s *adminService) releaseBrake(ctx context.Context, _ *nothing) (*jsonOf[api.BrakeReply], error) {
	l, err := s.leading()
	if err != nil {
		return nil, err
	}
	audit.Of(ctx).Changes("brake", map[string]string{"brake": s.picture().Brake}, nil)
	body, err := l.Ask(ctx, func(t outbox.Ticket) message.Event {
		return message.BrakeReleased{Ticket: t, By: gate.PrincipalOf(ctx).User}
	})
	if err != nil {
		return nil, err
	}
	return &jsonOf[api.BrakeReply]{api.BrakeReply{Affected: body.(message.HostReply).Affected}}, nil
}
