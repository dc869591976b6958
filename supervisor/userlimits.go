package supervisor

import (
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"qb/api"
	"qb/supervisor/farm"
	"qb/supervisor/problem"
	"qb/supervisor/quota"
	"qb/supervisor/settings"
)

// The limits of the server, as a refusal and the metrics name them; the farm has more.
const (
	limitSubmissions = "submissions"
	limitSubmitted   = "submitted-bytes"
	limitJobBytes    = "job-bytes"
	limitChanges     = "changes"
	limitStreams     = "event-streams"
	limitFollowed    = "followed-logs"
	limitCredentials = "credentials"
)

// limitNames are all values of the metrics' label.
var limitNames = []string{limitSubmissions, limitSubmitted, limitJobBytes, problem.LimitStored, limitChanges, limitStreams, limitFollowed, limitCredentials,
	quota.LimitFarmJobs, quota.LimitOpenJobs, quota.LimitOpenBytes, quota.LimitChoices, farm.LimitOrders}

// userLimits bounds how fast one user submits and changes jobs. Nothing of it is stored: a new leader begins with full
// allowances.
type userLimits struct {
	config func() *settings.Config

	mu     sync.Mutex
	byUser map[string]*allowance
}

// allowance is what one user may do now, and what he was refused lately.
type allowance struct {
	submissions, bytes, changes *rate.Limiter
	refused                     map[string]refusals // by limit
}

// refusals are calls that a limit refused, with less than refusedFor between two.
type refusals struct {
	calls int
	last  time.Time
}

// Bursts are these times what a minute allows.
const (
	changesBurst = 5
	bytesBurst   = 8
	maxAllowed   = 10_000 // users remembered
)

func newUserLimits(config func() *settings.Config) *userLimits {
	return &userLimits{config: config, byUser: map[string]*allowance{}}
}

// of is the user's allowance under the configuration in force.
func (l *userLimits) of(user string) *allowance {
	c := l.config()
	a := l.byUser[user]
	if a == nil {
		if len(l.byUser) >= maxAllowed {
			l.forget()
		}
		a = &allowance{refused: map[string]refusals{}}
		l.byUser[user] = a
	}
	a.submissions = perMinute(a.submissions, float64(c.UserSubmissions), float64(c.UserBurst))
	a.bytes = perMinute(a.bytes, float64(c.UserSubmitted), bytesBurst*float64(c.UserSubmitted))
	a.changes = perMinute(a.changes, float64(c.UserChanges), changesBurst*float64(c.UserChanges))
	return a
}

// perMinute is a limiter of so much a minute, full if it is new; 0 is no limit.
func perMinute(l *rate.Limiter, much, burst float64) *rate.Limiter {
	limit, n := rate.Limit(much/60), int(min(burst, math.MaxInt32))
	if much == 0 {
		limit = rate.Inf
	}
	if l == nil || l.Limit() != limit || l.Burst() != n {
		return rate.NewLimiter(limit, n)
	}
	return l
}

// forget drops users who have their whole allowance again; if nobody has, all.
func (l *userLimits) forget() {
	for user, a := range l.byUser {
		if a.submissions.Tokens() >= float64(a.submissions.Burst()) && a.changes.Tokens() >= float64(a.changes.Burst()) && a.bytes.Tokens() >= float64(a.bytes.Burst()) {
			delete(l.byUser, user)
		}
	}
	if len(l.byUser) >= maxAllowed {
		clear(l.byUser)
	}
}

// submit takes one submission of so many bytes from the owner's allowance.
func (l *userLimits) submit(owner string, bytes int) error {
	c := l.config()
	if most := int(c.JobBytes); most > 0 && bytes > most {
		return beyond(limitJobBytes, 0, "a job of %d bytes: more than supervisor_job_bytes = %s; pass data in files", bytes, c.JobBytes)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(owner)
	if wait := take(a.submissions, 1); wait > 0 {
		return beyond(limitSubmissions, wait, "%s submitted more than supervisor_user_submissions = %d jobs a minute; try again in %s, or submit one job with more items",
			owner, c.UserSubmissions, shortly(wait))
	}
	if wait := take(a.bytes, bytes); wait > 0 {
		return beyond(limitSubmitted, wait, "%s submitted more than supervisor_user_submitted = %s a minute; try again in %s, or pass data in files",
			owner, c.UserSubmitted, shortly(wait))
	}
	return nil
}

// change takes one order or change of a job, which stores so many bytes, from the user's allowance.
func (l *userLimits) change(user string, bytes int) error {
	c := l.config()
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(user)
	if wait := take(a.changes, 1); wait > 0 {
		return beyond(limitChanges, wait, "%s made more than supervisor_user_changes = %d changes a minute; try again in %s", user, c.UserChanges, shortly(wait))
	}
	if wait := take(a.bytes, bytes); wait > 0 {
		return beyond(limitSubmitted, wait, "%s submitted and changed more than supervisor_user_submitted = %s a minute; try again in %s, or name less in one change",
			user, c.UserSubmitted, shortly(wait))
	}
	return nil
}

// note remembers that a limit refused the user a call.
func (l *userLimits) note(user, limit string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(user)
	r := a.refused[limit]
	if time.Since(r.last) > refusedFor {
		r.calls = 0
	}
	a.refused[limit] = refusals{r.calls + 1, time.Now()}
}

// lately is how many calls a limit has refused the user until now.
func (l *userLimits) lately(user, limit string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.byUser[user]
	if a == nil || time.Since(a.refused[limit].last) > refusedFor {
		return 0
	}
	return a.refused[limit].calls
}

// take takes n from a limiter, or says how long it takes until there are so many.
func take(l *rate.Limiter, n int) time.Duration {
	if l.Limit() == rate.Inf {
		return 0
	}
	now := time.Now()
	r := l.ReserveN(now, min(n, l.Burst()))
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return wait
	}
	return 0
}

// beyond is the refusal of what a limit does not allow.
func beyond(limit string, wait time.Duration, format string, args ...any) error {
	return &api.Error{Kind: api.KindLimit, Limit: limit, RetryAfter: wait, Text: fmt.Sprintf(format, args...)}
}

func shortly(d time.Duration) time.Duration { return max(d, time.Second).Round(time.Second) }

// places bounds how many streams of a kind are open: of one credential, and in all; the last are for operators.
type places struct {
	limit    string
	all      int
	reserved int

	mu   sync.Mutex
	of   map[string]int
	open int
}

func newPlaces(limit string, all, reserved int) *places {
	return &places{limit: limit, all: all, reserved: reserved, of: map[string]int{}}
}

// enter takes a place for a credential; leave gives it back. Most is that of one credential, 0 for no limit.
func (p *places) enter(who Principal, most int, key string) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := who.credential()
	room := p.all
	if !who.seesAll() {
		room -= p.reserved
	}
	switch {
	case most > 0 && p.of[name] >= most:
		return nil, beyond(p.limit, streamWait, "%s has %d %s open already, the limit of one credential (%s); close some", who.User, p.of[name], words(p.limit), key)
	case p.open >= room:
		return nil, beyond(p.limit, streamWait, "%d %s are open already; try again later", p.open, words(p.limit))
	}
	p.open++
	p.of[name]++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.open--
		if p.of[name]--; p.of[name] == 0 {
			delete(p.of, name)
		}
	}), nil
}

func words(limit string) string {
	if limit == limitStreams {
		return "event streams"
	}
	return "followed logs"
}

// credential is the token, or the user of the socket.
func (p Principal) credential() string {
	if p.Token != "" {
		return p.Token
	}
	return "user " + p.User
}
