package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"qb/internal/guard"
	"qb/internal/statedir"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/limits"
	"qb/supervisor/access/listeners"
	"qb/supervisor/farm"
	"qb/supervisor/farm/central"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/farmkey"
	"qb/supervisor/lead/selfaudit"
	"qb/supervisor/lead/term"
	"qb/supervisor/lead/termwatch"
	"qb/supervisor/page/eventstream"
	"qb/supervisor/store"
	"qb/supervisor/store/history"
	"qb/supervisor/store/mail"
	"qb/supervisor/wire/settings"
)

// Backing is a store that can also be read from and lets history age; package postgres has one.
type Backing interface {
	store.Store
	store.Reader
	store.Upkeep
	store.Mails
	selfaudit.Rows
}

// Options are what the configuration does not say.
type Options struct {
	Store   Backing          // required; the caller closes it after Run
	Key     farmkey.Key      // of the farm, required; the store knows its public part
	Log     *slog.Logger     // nil: nothing is logged
	Ready   func(url string) // called once, when the addresses are open and the first term is led; may be nil
	Version string
	// Trouble returns a fault of the database known to the process that runs it, "" for none; may be nil.
	Trouble func() string

	// RenewTokens is called now and then while this supervisor leads, so that the service's files of tokens have good
	// ones; nil: there are none.
	RenewTokens func(context.Context) error

	rebuild func(message.Policy, facts.Facts, time.Time) (term.Machine, error) // tests break the farm with it
	// Reload reads the configuration again, validated, with remarks on what beside it a restart is needed
	// for; nil: it cannot be read again. A value on Hangup has the same effect as api.Reread.
	Reload func() (Reloaded, error)
	Hangup <-chan os.Signal
	// Inherited are the listeners that the process was started with; may be nil.
	Inherited *listeners.Inherited
	// Listening is called once, when the addresses are open; may be nil.
	Listening func(*listeners.Listeners)
	// Workers are the settings of workers; nil: there is no file.
	Workers *central.Sections
	// Doors opens the doors of this process; may be nil.
	Doors func(Inside) ([]Door, error)

	checkEvery, ageEvery time.Duration // shorter in tests
	mailEvery            time.Duration // shorter in tests
	auditFirst           time.Duration // shorter in tests
	ageAttempts          int           // fewer in tests
	room                 func(folder string) (free, total int64, err error)
}

// Run serves the farm until ctx ends, then stops within stopFor: answers are finished, the term is given
// back. It returns an error only if it cannot begin or a listener fails.
func Run(ctx context.Context, cfg settings.Config, opts Options) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	if opts.Store == nil || cfg.LogFolder() == "" {
		return errors.New("a supervisor needs a store and a folder: set supervisor_state or supervisor_logpath")
	}
	if opts.Key.IsZero() {
		return errors.New("a supervisor needs the farm's key: set supervisor_key_file")
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	s, err := newServer(cfg, opts.Store, opts.Log, opts.Version)
	if err != nil {
		return err
	}
	defer s.logs.Close()
	s.central.File.Store(opts.Workers)
	s.live.reload = opts.Reload
	s.databaseSays = opts.Trouble
	s.gate.Key = opts.Key
	if opts.Doors != nil {
		if s.doors, err = opts.Doors(Inside{s}); err != nil {
			return err
		}
	}
	open, err := listeners.Open(cfg, cmp.Or(opts.Inherited, &listeners.Inherited{}), opts.Log,
		func() { s.metrics.Limited(limits.Connections) })
	if err != nil {
		return err
	}
	if opts.Listening != nil {
		opts.Listening(open)
	}
	s.people.fingerprint, s.people.pageLost = open.Fingerprint, open.PageLost
	s.live.listen = open.Listen
	return s.serve(ctx, opts, open)
}

// serve runs terms and listeners side by side until ctx ends or a listener fails.
func (s *server) serve(ctx context.Context, opts Options, open *listeners.Listeners) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	web := httpServer(s, context.WithoutCancel(ctx))
	failed := make(chan error, len(open.All)+len(s.doors))
	for _, l := range open.All {
		go func() {
			if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serving %s: %w", l.Addr(), err)
			}
		}()
	}
	var led sync.WaitGroup
	for _, d := range s.doors {
		led.Go(func() {
			s.keeper("door").Keep(ctx, "door", func(ctx context.Context) {
				if err := d.Run(ctx); err != nil {
					failed <- err
				}
			})
		})
	}
	url := open.URL
	s.leader.own = url
	opts.Store.Advertise(url)
	leads := s.leads(opts, url)
	s.terms.Store(leads)
	beside := func(what string, work func(context.Context)) { led.Go(func() { s.keeper(what).Keep(ctx, what, work) }) }
	beside("terms", leads.Run)
	beside("watch of the leader", s.watchLeader)
	beside("audit", s.audit.Run)
	beside("timeline", func(ctx context.Context) { s.shares.timeline.Run(ctx, s.lastView, s.now) })
	beside("tokens", func(ctx context.Context) { s.people.careForTokens(ctx, opts.RenewTokens) })
	beside("reread", func(ctx context.Context) { s.admin.rereadOn(ctx, opts.Hangup) })
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
		cancel()
	}
	return errors.Join(err, s.stop(web, &led))
}

func (s *server) leads(opts Options, url string) *term.Leader {
	var ready sync.Once
	s.prepareMailAndAudit(opts)
	opts.checkEvery = cmp.Or(opts.checkEvery, store.CheckEvery)
	opts.ageEvery = cmp.Or(opts.ageEvery, history.Every)
	opts.ageAttempts = cmp.Or(opts.ageAttempts, history.Chunk)
	if opts.room == nil {
		opts.room = statedir.Room
	}
	if opts.rebuild == nil {
		opts.rebuild = func(p message.Policy, rows facts.Facts, now time.Time) (term.Machine, error) {
			return farm.Rebuild(p, rows, now)
		}
	}
	tell := func(e facts.EventFacts) { s.page.stream.Put([]eventstream.Event{{EventFacts: e}}) }
	return &term.Leader{
		Store: opts.Store, Policy: s.live.policy, Rebuild: opts.rebuild, Check: opts.checkEvery, Log: s.log,
		Metrics: s.metrics, Begin: s.begin, End: s.end,
		Key: opts.Key, Numbers: func() (int64, int, error) { return s.logs.Numbers(termwatch.MostJobs, termwatch.MostTries) },
		Age: func(ctx context.Context, l *term.Loop) {
			a := history.Ager{
				Store: opts.Store, Limits: func() history.Limits { return historyLimits(s.live.now.Load()) },
				Forget: l.Forget, Epoch: l.Epoch, Records: &s.jobs.records, Logs: s.logs, Room: opts.room,
				Record: tell, Metrics: s.metrics.History, Log: s.log, Every: opts.ageEvery, Attempts: opts.ageAttempts,
			}
			s.jobs.ager.Store(&a)
			defer s.jobs.ager.Store(nil)
			var beside sync.WaitGroup
			defer beside.Wait()
			beside.Go(func() {
				s.keeper("mail").Keep(ctx, "mail", func(ctx context.Context) {
					s.admin.mail.Run(ctx, mail.Term{Epoch: l.Epoch, Now: l.Now, Record: tell})
				})
			})
			beside.Go(func() {
				s.keeper("own audit").Keep(ctx, "own audit", func(ctx context.Context) {
					s.admin.auditor.Run(ctx, selfaudit.Term{Now: l.Now, Record: tell})
				})
			})
			s.keeper("ageing").Keep(ctx, "ageing", a.Run)
		},
		Room: s.reader.Room, Tell: tell, NoteOf: func(ctx context.Context) term.Note { return audit.Of(ctx) },
		Publish: func(out term.Display, writes []facts.Write) {
			s.show(out, writes)
			if out.View != nil {
				ready.Do(func() {
					s.log.Info("ready", "url", url)
					if opts.Ready != nil {
						go opts.Ready(url) // it may wait for workers, which wait for the loop
					}
				})
			}
		},
	}
}

// prepareMailAndAudit makes the sender of mails and the hourly audit, which each term runs.
func (s *server) prepareMailAndAudit(opts Options) {
	s.admin.mail = mail.New(&mail.Sender{
		Store: opts.Store, Settings: func() mail.Settings { return mailSettings(s.live.now.Load()) },
		Metrics: s.metrics.Mails, Log: s.log, Every: opts.mailEvery,
	})
	s.admin.auditor = &selfaudit.Auditor{
		Ends: &s.workers.ends, Rows: opts.Store, Hosts: s.hosts.upHosts,
		Every: func() time.Duration { return s.live.now.Load().AuditEvery.Std() },
		First: cmp.Or(opts.auditFirst, selfaudit.AfterTerm), Metrics: s.metrics.Audits, Log: s.log,
	}
}

// keeper keeps work going that goes on beside the terms.
func (s *server) keeper(what string) guard.Keeper {
	return guard.Keeper{Log: s.log, Panics: s.metrics.Panics.WithLabelValues(what).Inc}
}

// stop ends the term, which refuses the requests that still wait, then waits until the last answers are sent.
func (s *server) stop(web *http.Server, led *sync.WaitGroup) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopFor)
	defer cancel()
	s.stopStreams()
	led.Wait() // bounded by the limits of a commit and of giving a term back
	if err := web.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("stopping: some answers were cut off: %w", err), web.Close())
	}
	return nil
}

func baseOf(ctx context.Context) func(net.Listener) context.Context {
	return func(net.Listener) context.Context { return ctx }
}
