package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"qb/api"
	"qb/internal/pause"
	"qb/supervisor/farm/message"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/store"
)

// leadership is what a supervisor knows of the term: its own while it leads, or who leads instead.
type leadership struct {
	reader       store.Reader
	log          *slog.Logger
	name         string // host name of this process
	version      string
	live         liveConfig
	databaseSays func() string // fault of the database as reported by the process that runs it; may be nil

	loop   atomic.Pointer[term.Loop]    // nil between terms
	view   atomic.Pointer[term.Picture] // of this term; nil between terms
	terms  atomic.Pointer[term.Leader]
	leader leaderWatch
}

// leading is the loop that takes changes now.
func (s *leadership) leading() (*term.Loop, error) {
	if l := s.loop.Load(); l != nil {
		return l, nil
	}
	return nil, s.standingBy()
}

// now is the time of the term, if this supervisor leads.
func (s *leadership) now() time.Time {
	if l := s.loop.Load(); l != nil {
		return l.Now()
	}
	return time.Now()
}

// picture is what listings show now; an empty one where there is no view.
func (s *leadership) picture() *term.Picture {
	if p := s.view.Load(); p != nil {
		return p
	}
	return term.NewPicture(&message.View{})
}

// lastView is the last view of the whole farm, nil if there is none yet in this term.
func (s *leadership) lastView() *message.View {
	if p := s.view.Load(); p != nil {
		return p.View
	}
	return nil
}

// leaderWatch is what a standby supervisor knows of the leader.
type leaderWatch struct {
	own  string // this process's URL
	seen atomic.Pointer[store.Leader]
}

// watchLeader keeps reading who leads while this process does not, so that a refusal costs no read.
func (s *leadership) watchLeader(ctx context.Context) {
	told, differs := int64(-1), ""
	for ctx.Err() == nil {
		if s.loop.Load() == nil {
			read, cancel := context.WithTimeout(ctx, readFor)
			seen, err := s.reader.Leader(read)
			cancel()
			if err != nil {
				s.leader.seen.Store(nil)
			} else {
				s.leader.seen.Store(&seen)
				if s.otherLeads(&seen) && seen.Epoch != told {
					told = seen.Epoch
					s.log.Info("standby", "url", s.leader.own, "leader", seen.Name, "epoch", seen.Epoch)
				}
				if other := s.otherPromise(); other != differs {
					if differs = other; other != "" {
						s.log.Warn("standby with other settings", "leader", seen.Name, "why", other)
					}
				}
			}
		}
		_ = pause.For(ctx, watchEvery)
	}
}

func (s *leadership) otherLeads(l *store.Leader) bool {
	return l != nil && l.Name != "" && l.Name != s.leader.own && l.Silent < store.TrustFor
}

// otherPromise says in what this supervisor would promise hosts something else than the leader does, "" if in nothing.
// While a former, longer promise is in the rows, what the leader promises is not known.
func (s *leadership) otherPromise() string {
	l, policy := s.leader.seen.Load(), s.live.now.Load().Policy()
	if s.loop.Load() != nil || !s.otherLeads(l) || l.Promise.Same(policy.Promise()) ||
		!l.Promise.Until.IsZero() && l.Promise.With(policy.Promise()).Same(l.Promise) {
		return ""
	}
	return fmt.Sprintf(
		"this supervisor would promise hosts %s, and the rows have %s: give all supervisors the same supervisor_execution_lease and supervisor_kill_grace",
		policy.Promise(), l.Promise)
}

// leaderURL is the leader's address as far as this process knows it.
func (s *leadership) leaderURL() string {
	if s.loop.Load() != nil {
		return s.leader.own
	}
	if l := s.leader.seen.Load(); s.otherLeads(l) {
		return l.Name
	}
	return ""
}

// standingBy refuses what only a leader may answer, and names the leader. Nothing has been done.
func (s *leadership) standingBy() error {
	text, url := "this supervisor does not lead now; try again in a moment", "unknown"
	if l := s.leader.seen.Load(); s.loop.Load() == nil && s.otherLeads(l) {
		url = l.Name
		text = "this supervisor stands by; " + url +
			" leads: ask that one, or name both, with a comma between, in QB_SUPERVISOR"
		if l.Silent > problem.StalledAfter {
			text += fmt.Sprintf("; it has not been heard for %.0f s: its term may have ended, try again in a moment",
				l.Silent.Seconds())
		}
	} else if trouble := s.trouble(); trouble != "" {
		text = trouble
	}
	if e := s.lastEnd(); e != nil && s.loop.Load() == nil {
		text += fmt.Sprintf("; term %d of this supervisor ended %.0f s ago (%s: %s)", e.Epoch, time.Since(e.At).Seconds(),
			e.Code, e.Text())
	}
	p := problem.New(api.KindUnavailable, http.StatusServiceUnavailable, text)
	p.Standby, p.Promise = url, s.otherPromise()
	return p
}

// lastEnd is how the last term of this process ended, if it was not to; nil: none did.
func (s *leadership) lastEnd() *term.Ended {
	if t := s.terms.Load(); t != nil {
		return t.Ended()
	}
	return nil
}

// listening refuses as a standby does; a leader whose rows were put back or copied adds that workers should come and
// report, unless it knows that they obey another database.
func (s *leadership) listening(l *term.Loop) error {
	err := s.standingBy()
	var p *problem.Problem
	if l != nil && l.Listens() && errors.As(err, &p) {
		p.Standby = api.StandbyListens
	}
	return err
}

// trouble is why nothing can be changed now, as far as it lies with the database; "": it does not.
func (s *leadership) trouble() string {
	if l := s.loop.Load(); l != nil {
		return l.Trouble()
	}
	if s.databaseSays != nil {
		if text := s.databaseSays(); text != "" {
			return text
		}
	}
	err := s.reader.Trouble()
	switch {
	case err == nil:
		return ""
	case errors.Is(err, store.ErrFull):
		return "the disk of the database is full; free some space on it, and all goes on by itself"
	}
	return problem.DatabaseTrouble(err) + "; the supervisor's log says more, and it goes on by itself when that is mended"
}
