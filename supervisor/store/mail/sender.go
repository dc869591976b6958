package mail

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/time/rate"

	"qb/internal/pause"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// The limits.
const (
	Every       = 5 * time.Second  // between two looks for mails to send
	Settle      = time.Minute      // of a term, in which nothing old is dropped
	MostWaiting = 1000             // mails of one owner
	mostAge     = 24 * time.Hour   // of an end, after which its mail is dropped
	firstDelay  = time.Minute      // until a second try; it doubles with each
	lastDelay   = time.Hour        // and never grows beyond this
	serverRest  = 30 * time.Second // of a server that could not be used
	atOnce      = 100              // mails of one look
	dropAtOnce  = 500
	interval    = time.Second // between two mails: 60 a minute
)

// Settings say by which server mails go; those of qb.conf begin with mail_.
type Settings struct {
	Host, TLS          string // TLS: starttls, tls or none
	Port               int
	From               string // address
	Domain             string // of owners' addresses; "": they have none
	User, PasswordFile string // "": no login

	roots *x509.CertPool // in tests; nil: those of the system
}

// On says whether mails are sent at all.
func (s *Settings) On() bool { return s.Host != "" }

// recipient is the address that a mail goes to.
func (s *Settings) recipient(m *facts.MailFacts) (string, error) {
	to := m.To
	if to == "" && s.Domain == "" {
		return "", errors.New("the job names no address, and mail_domain is not set")
	}
	if to == "" {
		to = m.Owner + "@" + s.Domain
	}
	if err := facts.CheckAddress(to); err != nil {
		return "", fmt.Errorf("%.60q is no address: %w", to, err)
	}
	return to, nil
}

// Metrics count mails.
type Metrics struct {
	Sent, Delayed, Dropped interface{ Add(float64) }
	Waiting                interface{ Set(float64) }
}

// Sender sends mails while this supervisor leads. It outlives terms, so that their mails are bounded together.
type Sender struct {
	Store    store.Mails
	Settings func() Settings // in force now
	Metrics  Metrics
	Log      *slog.Logger

	Every, Settle, Interval time.Duration // shorter in tests; 0: as above

	pace   *rate.Limiter
	warn   rate.Sometimes
	rested time.Time // when the server may be tried again
}

// Term is what a sender knows of the term in whose name it sends.
type Term struct {
	Epoch  int64
	Now    func() time.Time
	Record func(facts.EventFacts) // what has become of a mail, once it is durable
}

// New completes a sender.
func New(s *Sender) *Sender {
	s.Every = cmp.Or(s.Every, Every)
	s.Settle = cmp.Or(s.Settle, Settle)
	s.Interval = cmp.Or(s.Interval, interval)
	s.pace = rate.NewLimiter(rate.Every(s.Interval), 1)
	s.warn = rate.Sometimes{First: 1, Interval: time.Minute}
	return s
}

// Run sends mails until ctx ends. What fails is tried again with a later look.
func (s *Sender) Run(ctx context.Context, t Term) {
	began := t.Now()
	defer s.Metrics.Waiting.Set(0) // the next leader counts them
	for ctx.Err() == nil {
		if err := s.look(ctx, t, t.Now().Sub(began) >= s.Settle); err != nil && ctx.Err() == nil {
			s.warn.Do(func() { s.Log.Warn("cannot work on the mails that wait; will retry", "error", err) })
		}
		_ = pause.For(ctx, s.Every)
	}
}

// look sends what is due, and drops what cannot be sent any more; the latter not in the first moments of a term, when a
// supervisor has enough to do.
func (s *Sender) look(ctx context.Context, t Term, settled bool) error {
	waiting, err := s.Store.CountMails(ctx)
	if err != nil {
		return err
	}
	s.Metrics.Waiting.Set(float64(waiting))
	if waiting == 0 {
		return nil
	}
	if settled && waiting > MostWaiting {
		if err := s.dropExcess(ctx, t); err != nil {
			return err
		}
	}
	due, err := s.Store.DueMails(ctx, t.Now(), atOnce)
	if err != nil {
		return err
	}
	set := s.Settings()
	for _, m := range due {
		switch {
		case settled && t.Now().Sub(m.EndedAt) > mostAge:
			err = s.drop(ctx, t, facts.ReasonMailUnsent, fmt.Sprintf("not sent within %v, after %d tries", mostAge, m.Tries), m)
		case set.On() && !time.Now().Before(s.rested):
			err = s.deliver(ctx, t, set, m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropExcess drops the latest mails of owners who have too many waiting.
func (s *Sender) dropExcess(ctx context.Context, t Term) error {
	for ctx.Err() == nil {
		beyond, err := s.Store.MailsBeyond(ctx, MostWaiting, dropAtOnce)
		if err != nil || len(beyond) == 0 {
			return err
		}
		if err := s.drop(ctx, t, facts.ReasonMailsWaiting, fmt.Sprintf("%d mails of the owner wait already", MostWaiting),
			beyond...); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// deliver tries to send one mail. What it returns is about the rows; what the server says is dealt with.
func (s *Sender) deliver(ctx context.Context, t Term, set Settings, m facts.MailFacts) error {
	to, err := set.recipient(&m)
	if err != nil {
		return s.drop(ctx, t, facts.ReasonMailAddress, err.Error(), m)
	}
	if err := s.pace.Wait(ctx); err != nil {
		return err
	}
	if noted, err := s.Store.TryMail(ctx, t.Epoch, m, t.Now().Add(delay(m.Tries))); err != nil || !noted {
		return err
	}
	answer, err := set.send(ctx, to, about(set.From, to, &m))
	refused, ok := errors.AsType[*refusal](err)
	switch {
	case err == nil:
		s.Metrics.Sent.Add(1)
		s.Log.Debug("mail sent", "job", m.Job, "answer", answer)
		return s.Store.EndMails(ctx, t.Epoch, []int64{m.ID})
	case ok && refused.forGood:
		return s.drop(ctx, t, facts.ReasonMailRefused, "the mail server refuses it: "+refused.Error(), m)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	s.Metrics.Delayed.Add(1)
	s.warn.Do(func() {
		s.Log.Warn("a mail was not sent; will retry", "job", m.Job, "owner", m.Owner, "tries", m.Tries+1,
			"server", set.address(), "error", err)
	})
	if !ok { // it is not about this mail
		s.rested = time.Now().Add(min(serverRest, 6*s.Every))
	}
	return nil
}

// drop takes mails away that are not sent, and says so in the histories of their jobs.
func (s *Sender) drop(ctx context.Context, t Term, code facts.Reason, why string, mails ...facts.MailFacts) error {
	ids, told := make([]int64, 0, len(mails)), make([]facts.EventFacts, 0, len(mails))
	for _, m := range mails {
		ids = append(ids, m.ID)
		e := facts.FarmEvent(t.Now(), "mail-dropped", facts.Because(code, facts.Params{}, why))
		e.Job = m.Job
		told = append(told, e)
	}
	if err := s.Store.EndMails(ctx, t.Epoch, ids, told...); err != nil {
		return err
	}
	s.Metrics.Dropped.Add(float64(len(mails)))
	s.Log.Warn("mails dropped", "mails", len(mails), "job", mails[0].Job, "owner", mails[0].Owner, "code", code,
		"reason", why)
	for _, e := range told {
		t.Record(e)
	}
	return nil
}

// delay is how long to wait after so many tries before this one.
func delay(tries int) time.Duration {
	return min(firstDelay<<min(tries, 10), lastDelay) // the shift is bounded, too
}

// Tested is what came of a test mail.
type Tested struct {
	Server   string // HOST:PORT
	Accepted bool
	Answer   string // of the server, or what went wrong
}

// Test sends one mail to an address, which must be one, and says what the server answered.
func (s *Sender) Test(ctx context.Context, to string) (Tested, error) {
	set := s.Settings()
	done := Tested{Server: set.address()}
	if err := s.pace.Wait(ctx); err != nil {
		return done, err
	}
	answer, err := set.send(ctx, to, testMail(set.From, to, time.Now()))
	done.Accepted, done.Answer = err == nil, answer
	if err != nil {
		done.Answer = err.Error()
	}
	return done, nil
}
