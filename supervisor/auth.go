package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/httprate"

	"qb/api"
	"qb/supervisor/audit"
	"qb/supervisor/credentials"
	"qb/supervisor/facts"
	"qb/supervisor/farmkey"
	"qb/supervisor/limits"
	"qb/supervisor/listeners"
	"qb/supervisor/problem"
	"qb/supervisor/reads"
	"qb/supervisor/settings"
	"qb/supervisor/store"
)

type principalKey struct{}

func principalOf(ctx context.Context) credentials.Principal {
	p, _ := ctx.Value(principalKey{}).(credentials.Principal)
	return p
}

// object is what a request acts on, as far as rights are concerned.
type object struct {
	owner  string
	job    facts.JobID // 0: it is no job
	role   api.Role    // of the owner's row; "" without one
	groups []string    // of the owner
	access string      // supervisor_log_access
}

// object looks up what rights on an owner's job, or on his behalf, depend on.
func (s *server) object(ctx context.Context, owner string, job facts.JobID) (*object, error) {
	o := &object{owner: owner, job: job, access: s.live.now.Load().LogAccess}
	if p := principalOf(ctx); owner == p.User || p.Role == api.Admin {
		return o, nil
	}
	row, found, err := s.gate.tokens.Person(ctx, owner)
	if err == nil && found && credentials.PersonHolds(s.gate.key, row) {
		o.role, o.groups = api.Role(row.Role), row.Groups
	}
	return o, err
}

// mayOn asks for the right to something that belongs to an owner.
func (s *server) mayOn(ctx context.Context, e api.Endpoint, owner string, job facts.JobID) error {
	o, err := s.object(ctx, owner, job)
	if err != nil {
		return err
	}
	return authorise(principalOf(ctx), e, o)
}

// authorise is the one place that says who may do what. With no object only the role counts; the caller
// asks again once it knows whose the object is.
func authorise(p credentials.Principal, e api.Endpoint, o *object) error {
	if !p.Role.Allows(e.Role) {
		return api.Errorf(api.KindForbidden, "%s (%s) may not: %s; it needs the role %s", p.User, p.Role, lowerFirst(e.Summary), e.Role)
	}
	if p.Exchange && !e.Exchanges() && e.Role != api.Anyone {
		return api.Errorf(api.KindForbidden, "token %s is good for being exchanged alone, as qb worker -join does; use the token that it was exchanged for", p.Token)
	}
	if p.Pending != "" && e.Role != api.Anyone {
		return &api.Error{Kind: api.KindConflict, Code: api.CodeHostPending, Text: fmt.Sprintf(
			"host %q (key %s) waits for approval: an admin compares the key with the one in qbhosts and runs qbadmin worker -approve %s", p.Pending, credentials.Fingerprint(p.HostKey), p.Pending)}
	}
	if o == nil || o.owner == p.User {
		return nil
	}
	switch e.ID {
	case api.Submit.ID, api.CheckSubmission.ID:
		if !p.SubmitsFor(o.owner, o.role) {
			return api.Errorf(api.KindForbidden, "user = %q: only an admin, or who was given the right to submit as %s (qbadmin user set -submitas), may submit for others; leave it out", o.owner, o.owner)
		}
	case api.Modify.ID, api.OrderJob.ID, api.OrderJobs.ID:
		if !p.SeesAll() && !p.LeadsAny(o.groups) {
			return api.Errorf(api.KindForbidden, "job %d belongs to %s; %s may change own jobs and those of groups that %s leads only, an operator those of all", o.job, o.owner, p.User, p.User)
		}
	case api.RemoveJob.ID:
		if !p.SeesAll() {
			return api.Errorf(api.KindForbidden, "job %d belongs to %s; %s may remove own jobs only, an operator those of all", o.job, o.owner, p.User)
		}
	case api.ItemLog.ID:
		if !p.SeesAll() && o.access != "all" && (o.access != "group" || !p.SharesGroup(o.groups)) {
			return api.Errorf(api.KindForbidden, "job %d belongs to %s, whose output %s may not read: supervisor_log_access = %q", o.job, o.owner, p.User, o.access)
		}
	case api.ListProfiles.ID, api.SetProfile.ID, api.ForgetProfile.ID:
		if !p.SeesAll() {
			return api.Errorf(api.KindForbidden, "user = %q: %s may read and change own profiles only, an operator those of all", o.owner, p.User)
		}
	case api.RevokeOwn.ID:
		return api.Errorf(api.KindForbidden, "this token is another user's; an admin revokes it with qbadmin token revoke")
	case api.GetPerson.ID:
		if p.Role != api.Admin {
			return api.Errorf(api.KindForbidden, "%s may read the own entry only, an admin those of all users", p.User)
		}
	}
	return nil
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// gate stands before the router: nothing is looked at before it is known who asks, but whether it is open to anyone.
type gate struct {
	key     farmkey.Key
	tokens  *credentials.Table
	hosts   []string // names by which this supervisor may be called
	failed  *httprate.RateLimiter
	logins  *httprate.RateLimiter // changes without a credential
	log     *slog.Logger
	reads   *reads.Outage
	peers   credentials.PeerCache
	config  func() *settings.Config                               // in force now
	refused func(context.Context, api.Endpoint, *problem.Problem) // tells the audit trail
	next    http.Handler
}

func newGate(r store.Reader, config func() *settings.Config, log *slog.Logger, failing *reads.Outage, next http.Handler) *gate {
	touches := reads.NewOutage(log, "recording the use of tokens")
	perMinute := func(n int) *httprate.RateLimiter {
		return httprate.NewRateLimiter(n, time.Minute, httprate.WithResponseHeaders(httprate.ResponseHeaders{RetryAfter: "Retry-After"}))
	}
	return &gate{
		config: config,
		tokens: credentials.NewTable(r, func(err error) { touches.Note("tokens", err) }),
		next:   next, log: log, reads: failing,
		hosts:  listeners.Names(*config()),
		failed: perMinute(failedTokens), logins: perMinute(openCalls),
	}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := g.foreign(r); p != nil {
		problem.Write(w, p)
		return
	}
	if !api.NeedsToken(r.Method, r.URL.Path) {
		g.anyone(w, r)
		return
	}
	p, err := g.who(r)
	if err != nil {
		g.refuse(w, r.WithContext(context.WithValue(r.Context(), principalKey{}, p)), err)
		return
	}
	for _, name := range []string{"Idempotency-Key", "If-Match"} {
		if n := len(r.Header.Values(name)); n > 1 {
			problem.Write(w, problem.Of(problem.Invalid(name, "it is given %d times, and they may differ; give it once", n)))
			return
		}
	}
	ctx := context.WithValue(r.Context(), principalKey{}, p)
	if !changesNothing(r) {
		ctx = audit.With(ctx, &audit.Note{})
	}
	g.next.ServeHTTP(w, r.WithContext(ctx))
}

// anyone serves what needs no credential. Logins among it make the provider work, and rows.
func (g *gate) anyone(w http.ResponseWriter, r *http.Request) {
	if !changesNothing(r) {
		if g.logins.OnLimit(w, r, httprate.CanonicalizeIP(remoteHost(r))) {
			p := problem.Of(limits.Beyond(limits.Credentials, time.Minute, "too many logins from this address; wait a minute"))
			g.refused(r.Context(), api.Endpoint{ID: r.Method}, p)
			problem.Write(w, p)
			return
		}
		r = r.WithContext(audit.With(r.Context(), &audit.Note{}))
	}
	g.next.ServeHTTP(w, r)
}

// changesNothing says whether a request changes nothing.
func changesNothing(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

func (g *gate) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problem.Of(err)
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="qb"`)
		if g.failed.OnLimit(w, r, httprate.CanonicalizeIP(remoteHost(r))) {
			p = problem.Of(limits.Beyond(limits.Credentials, time.Minute, "too many requests without a valid token; wait a minute"))
		} else {
			g.log.Warn("refused a credential", "remote", r.RemoteAddr, "method", r.Method, "path", r.URL.Path, "reason", p.Detail)
		}
	} else if p.Status >= 500 {
		g.reads.Note("a token", err)
	}
	g.refused(r.Context(), api.Endpoint{ID: r.Method}, p)
	problem.Write(w, p)
}

func remoteHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// who finds the principal: a token if one is given, else the peer of the unix socket.
func (g *gate) who(r *http.Request) (credentials.Principal, error) {
	header := r.Header.Values("Authorization")
	if len(header) == 0 {
		if peer, ok := credentials.PeerOf(r.Context()); ok {
			return g.local(r.Context(), peer)
		}
		return credentials.Principal{}, api.Errorf(api.KindUnauthorized, "no credential: send a token as Authorization: Bearer qb_…, from QB_TOKEN, QB_TOKEN_FILE or the farm's token file")
	}
	text, ok := strings.CutPrefix(header[0], "Bearer ")
	parts, parsed := credentials.Parse(strings.TrimSpace(text))
	if len(header) != 1 || !ok || !parsed {
		return credentials.Principal{}, api.Errorf(api.KindUnauthorized, "the credential is not a token of the form qb_ROLE_ID_SECRET")
	}
	_, failures, err := g.failed.Status(httprate.CanonicalizeIP(remoteHost(r)))
	if err != nil {
		return credentials.Principal{}, fmt.Errorf("counting refused credentials: %w", err) // in memory it never fails
	}
	t, found, err := g.tokens.Get(r.Context(), parts.ID, failures > failedTokens-1)
	if err != nil {
		return credentials.Principal{}, err
	}
	if !found || !parts.IsOf(g.key, t) || t.Revoked || !time.Now().Before(t.ExpiresAt) {
		return credentials.Principal{}, api.Errorf(api.KindUnauthorized, "token %s is unknown, expired or revoked; an admin makes a new one with qbadmin token create", parts.ID)
	}
	if !credentials.Holds(g.key, t, time.Now()) {
		return credentials.Principal{User: t.User, Token: t.ID}, api.Errorf(api.KindUnauthorized,
			"token %s was changed in the database by other means than qb and is refused; an admin revokes it and makes a new one with qbadmin token create", t.ID)
	}
	return g.holder(r.Context(), t)
}

// holder is who has a token that is good.
func (g *gate) holder(ctx context.Context, t store.Token) (credentials.Principal, error) {
	p := credentials.Principal{User: t.User, Role: api.Role(t.Role), Token: t.ID, HostKey: t.HostKey, Exchange: t.UsesLeft != nil, Pending: t.Pending, Until: t.ExpiresAt, Login: t.Name != "", SessionOf: t.SessionOf}
	if giver, ok := p.Giver(); ok {
		from, found, err := g.tokens.Get(ctx, giver, true)
		if err != nil {
			return p, err
		}
		if !found || !credentials.Holds(g.key, from, time.Now()) {
			return credentials.Principal{User: t.User, Token: t.ID}, api.Errorf(api.KindUnauthorized, "this session ended with token %s, which it was begun with; log in again", giver)
		}
		p.Login = from.Name != ""
	}
	return g.tokens.Bounded(ctx, g.key, p, t.CreatedAt)
}

// local is the user at the other end of the unix socket.
func (g *gate) local(ctx context.Context, peer credentials.Peer) (credentials.Principal, error) {
	p, err := g.peers.Principal(peer, g.config())
	if err != nil {
		return p, err
	}
	return g.tokens.Bounded(ctx, g.key, p, time.Time{})
}

// holds says whether the credential that a stream began with is still good, and gives the same rights. While the database
// does not answer, a token counts until it expires, and a local user stays who he was.
func (g *gate) holds(ctx context.Context) bool {
	began := principalOf(ctx)
	if began.Token == "" {
		peer, ok := credentials.PeerOf(ctx)
		if !ok {
			return false
		}
		now, err := g.local(ctx, peer)
		return errors.Is(err, problem.ErrDatabase) || err == nil && began.Same(now)
	}
	t, found, err := g.tokens.Get(ctx, began.Token, true)
	if err != nil {
		return time.Now().Before(began.Until)
	}
	if !found || !credentials.Holds(g.key, t, time.Now()) {
		return false
	}
	now, err := g.holder(ctx, t)
	return errors.Is(err, problem.ErrDatabase) || err == nil && began.Same(now)
}

// watch is asked by streams at each turn: every streamHeartbeat it looks whether the credential holds.
func (g *gate) watch(ctx context.Context, also func(context.Context) bool) func() bool {
	looked := time.Now()
	return func() bool {
		if time.Since(looked) < streamHeartbeat {
			return true
		}
		looked = time.Now()
		return g.holds(ctx) && (also == nil || also(ctx))
	}
}
