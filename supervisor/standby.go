package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"qb/api"
	"qb/pause"
	"qb/supervisor/problem"
	"qb/supervisor/store"
	"qb/supervisor/term"
)

// leaderWatch is what a supervisor that does not lead knows of the one that does.
type leaderWatch struct {
	own  string // this process's URL
	seen atomic.Pointer[store.Leader]
}

// watchLeader keeps reading who leads while this process does not, so that a refusal costs no read.
func (s *server) watchLeader(ctx context.Context) {
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

func (s *server) otherLeads(l *store.Leader) bool {
	return l != nil && l.Name != "" && l.Name != s.leader.own && l.Silent < store.TrustFor
}

// otherPromise says in what this supervisor would promise hosts something else than the leader does, "" if in nothing. While
// a former, longer promise is in the rows, what the leader promises is not known.
func (s *server) otherPromise() string {
	l, policy := s.leader.seen.Load(), s.live.now.Load().Policy()
	if s.loop.Load() != nil || !s.otherLeads(l) || l.Promise.Same(policy.Promise()) || !l.Promise.Until.IsZero() && l.Promise.With(policy.Promise()).Same(l.Promise) {
		return ""
	}
	return fmt.Sprintf("this supervisor would promise hosts %s, and the rows have %s: give all supervisors the same supervisor_execution_lease and supervisor_kill_grace",
		policy.Promise(), l.Promise)
}

// leaderURL is the leader's address as far as this process knows it.
func (s *server) leaderURL() string {
	if s.loop.Load() != nil {
		return s.leader.own
	}
	if l := s.leader.seen.Load(); s.otherLeads(l) {
		return l.Name
	}
	return ""
}

// standingBy refuses what only a leader may answer, and names the leader. Nothing has been done.
func (s *server) standingBy() error {
	text, url := "this supervisor does not lead now; try again in a moment", "unknown"
	if l := s.leader.seen.Load(); s.loop.Load() == nil && s.otherLeads(l) {
		url = l.Name
		text = "this supervisor stands by; " + url + " leads: ask that one, or name both, with a comma between, in QB_SUPERVISOR"
		if l.Silent > problem.StalledAfter {
			text += fmt.Sprintf("; it has not been heard for %.0f s: its term may have ended, try again in a moment", l.Silent.Seconds())
		}
	} else if trouble := s.trouble(); trouble != "" {
		text = trouble
	}
	if e := s.lastEnd(); e != nil && s.loop.Load() == nil {
		text += fmt.Sprintf("; term %d of this supervisor ended %.0f s ago (%s: %s)", e.Epoch, time.Since(e.At).Seconds(), e.Code, e.Text())
	}
	p := problem.New(api.KindUnavailable, http.StatusServiceUnavailable, text)
	p.Standby, p.Promise = url, s.otherPromise()
	return p
}

// lastEnd is how the last term of this process ended, if it was not to; nil: none did.
func (s *server) lastEnd() *term.Ended {
	if t := s.terms.Load(); t != nil {
		return t.Ended()
	}
	return nil
}

// listening refuses as a standby does; a leader whose rows were put back or copied adds that workers should come and report,
// unless it knows that they obey another database.
func (s *server) listening(l *term.Loop) error {
	err := s.standingBy()
	var p *problem.Problem
	if l != nil && l.Listens() && errors.As(err, &p) {
		p.Standby = api.StandbyListens
	}
	return err
}

// trouble is why nothing can be changed now, as far as it lies with the database; "": it does not.
func (s *server) trouble() string {
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
