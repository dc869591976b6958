package limits

import (
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"qb/api"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/quota"
	"qb/supervisor/lead/problem"
	"qb/supervisor/wire/settings"
)

// The limits of the server, as a refusal and the metrics name them; the farm has more.
const (
	Submissions = "submissions"
	Submitted   = "submitted-bytes"
	JobBytes    = "job-bytes"
	Checks      = "checks"
	Changes     = "changes"
	Streams     = "event-streams"
	Followed    = "followed-logs"
	Credentials = "credentials"
	Heavy       = "heavy-reads"
	Reads       = "reads" // of the database
	Searches    = "log-searches"
	Agendas     = "agendas"
	Trials      = "trials"
	Recalls     = "recalls"
	Sessions    = "sessions"
	Looks       = "looks" // at the live farm
	Connections = "connections"

	HostRequests = "host-requests" // of one worker
	HostOutput   = "host-output"   // bytes
)

// Names are all values of the metrics' label.
var Names = []string{Submissions, Submitted, JobBytes, problem.LimitStored, Checks, Changes, Streams, Followed,
	Credentials, Heavy, Reads, Searches, Agendas, Trials, Recalls, Sessions, Looks, Connections, HostRequests, HostOutput,
	quota.LimitFarmJobs, quota.LimitOpenJobs, quota.LimitOpenBytes, quota.LimitChoices, message.LimitOrders}

// rates bound how fast one user submits and changes jobs. Nothing of it is stored: a new leader begins with full
// allowances.
type rates struct {
	config func() *settings.Config

	mu     sync.Mutex
	byUser map[string]*allowance
}

// allowance is what one user may do now, and what he was refused lately.
type allowance struct {
	submissions, checks, bytes, changes, sessions *rate.Limiter
	refused                                       map[string]refusals // by limit
}

// refusals are calls that a limit refused, with less than refusedFor between two.
type refusals struct {
	calls int
	last  time.Time
}

// refusedFor is how long a user is shown that a limit refused him something.
const refusedFor = 5 * time.Minute

// Bursts are these times what a minute allows.
const (
	changesBurst = 5

	sessionsAMinute = 30 // codes and sessions of the page, of one user
	sessionsBurst   = 60
	bytesBurst      = 8
	maxUsers        = 10_000 // remembered
)

func newRates(config func() *settings.Config) *rates {
	return &rates{config: config, byUser: map[string]*allowance{}}
}

// of is the user's allowance under the configuration in force.
func (l *rates) of(user string) *allowance {
	c := l.config()
	a := l.byUser[user]
	if a == nil {
		if len(l.byUser) >= maxUsers {
			l.forget()
		}
		a = &allowance{refused: map[string]refusals{}}
		l.byUser[user] = a
	}
	a.submissions = perMinute(a.submissions, float64(c.UserSubmissions), float64(c.UserBurst))
	a.checks = perMinute(a.checks, float64(c.UserSubmissions), float64(c.UserBurst))
	a.bytes = perMinute(a.bytes, float64(c.UserSubmitted), bytesBurst*float64(c.UserSubmitted))
	a.sessions = perMinute(a.sessions, sessionsAMinute, sessionsBurst)
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

// forget drops users whose allowances are all unused; if there is none, it drops all users.
func (l *rates) forget() {
	for user, a := range l.byUser {
		if a.sessions.Tokens() >= float64(a.sessions.Burst()) && a.submissions.Tokens() >= float64(a.submissions.Burst()) &&
			a.changes.Tokens() >= float64(a.changes.Burst()) && a.checks.Tokens() >= float64(a.checks.Burst()) &&
			a.bytes.Tokens() >= float64(a.bytes.Burst()) {
			delete(l.byUser, user)
		}
	}
	if len(l.byUser) >= maxUsers {
		clear(l.byUser)
	}
}

// Submit takes one submission of so many bytes from the owner's allowance.
func (l *rates) Submit(owner string, bytes int) error { return l.submit(owner, bytes, take) }

// MaySubmit says what Submit would, and takes nothing.
func (l *rates) MaySubmit(owner string, bytes int) error { return l.submit(owner, bytes, missing) }

func (l *rates) submit(owner string, bytes int, take func(*rate.Limiter, int) time.Duration) error {
	c := l.config()
	if most := int(c.JobBytes); most > 0 && bytes > most {
		return Beyond(JobBytes, 0, "a job of %d bytes: more than supervisor_job_bytes = %s; pass data in files", bytes,
			c.JobBytes)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(owner)
	if wait := take(a.submissions, 1); wait > 0 {
		return Beyond(Submissions, wait,
			"%s submitted more than supervisor_user_submissions = %d jobs a minute; try again in %s, or submit one job with more items",
			owner, c.UserSubmissions, shortly(wait))
	}
	if wait := take(a.bytes, bytes); wait > 0 {
		return Beyond(Submitted, wait,
			"%s submitted more than supervisor_user_submitted = %s a minute; try again in %s, or pass data in files",
			owner, c.UserSubmitted, shortly(wait))
	}
	return nil
}

// Check takes one check of a submission from the user's allowance, which is as large as that of submissions.
func (l *rates) Check(user string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait := take(l.of(user).checks, 1); wait > 0 {
		return Beyond(Checks, wait,
			"%s checked more than supervisor_user_submissions = %d submissions a minute; try again in %s", user,
			l.config().UserSubmissions, shortly(wait))
	}
	return nil
}

// Begin takes one session of the page, or a code for one, from the user's allowance.
func (l *rates) Begin(user string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait := take(l.of(user).sessions, 1); wait > 0 {
		return Beyond(Sessions, wait, "%s began more than %d sessions a minute; try again in %s", user, sessionsAMinute,
			shortly(wait))
	}
	return nil
}

// Change takes one order or change of a job, which stores so many bytes, from the user's allowance.
func (l *rates) Change(user string, bytes int) error {
	c := l.config()
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(user)
	if wait := take(a.changes, 1); wait > 0 {
		return Beyond(Changes, wait, "%s made more than supervisor_user_changes = %d changes a minute; try again in %s", user,
			c.UserChanges, shortly(wait))
	}
	if wait := take(a.bytes, bytes); wait > 0 {
		return Beyond(Submitted, wait,
			"%s submitted and changed more than supervisor_user_submitted = %s a minute; try again in %s, or name less in one change",
			user, c.UserSubmitted, shortly(wait))
	}
	return nil
}

// Refused remembers that a limit refused the user a call.
func (l *rates) Refused(user, limit string) {
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
func (l *rates) lately(user, limit string) int {
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
	now := time.Now()
	r := l.ReserveN(now, min(n, l.Burst()))
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return wait
	}
	return 0
}

// missing is how long it takes until a limiter has so much, as take says, but nothing is taken.
func missing(l *rate.Limiter, n int) time.Duration {
	lacks := float64(min(n, l.Burst())) - l.Tokens()
	if l.Limit() == rate.Inf || lacks <= 0 {
		return 0
	}
	return time.Duration(lacks / float64(l.Limit()) * float64(time.Second))
}

// Beyond is the refusal of what a limit does not allow.
func Beyond(limit string, wait time.Duration, format string, args ...any) error {
	return &api.Error{Kind: api.KindLimit, Limit: limit, RetryAfter: wait, Text: fmt.Sprintf(format, args...)}
}

func shortly(d time.Duration) time.Duration { return max(d, time.Second).Round(time.Second) }
