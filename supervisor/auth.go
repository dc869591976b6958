package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/httprate"

	"qb/api"
	"qb/supervisor/credentials"
	"qb/supervisor/facts"
	"qb/supervisor/farmkey"
	"qb/supervisor/limits"
	"qb/supervisor/listeners"
	"qb/supervisor/problem"
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
	owner string
	job   facts.JobID // 0: it is no job
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
	if o == nil || o.owner == p.User {
		return nil
	}
	switch e.ID {
	case api.Submit.ID:
		if p.Role != api.Admin {
			return api.Errorf(api.KindForbidden, "user = %q: only an admin may submit for others; leave it out", o.owner)
		}
	case api.Modify.ID, api.OrderJob.ID, api.OrderJobs.ID, api.RemoveJob.ID, api.ItemLog.ID:
		if !p.SeesAll() {
			return api.Errorf(api.KindForbidden, "job %d belongs to %s; %s may change and read the output of own jobs only, an operator those of all", o.job, o.owner, p.User)
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
	log     *slog.Logger
	reads   *outage
	peers   credentials.PeerCache
	config  func() *settings.Config                               // in force now
	refused func(context.Context, api.Endpoint, *problem.Problem) // tells the audit trail
	next    http.Handler
}

func newGate(r store.Reader, config func() *settings.Config, log *slog.Logger, reads *outage, next http.Handler) *gate {
	touches := &outage{log: log, doing: "recording the use of tokens"}
	return &gate{
		config: config,
		tokens: credentials.NewTable(r, func(err error) { touches.note("tokens", err) }),
		next:   next, log: log, reads: reads,
		hosts: listeners.Names(*config()),
		failed: httprate.NewRateLimiter(failedTokens, time.Minute,
			httprate.WithResponseHeaders(httprate.ResponseHeaders{RetryAfter: "Retry-After"})),
	}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := g.foreign(r); p != nil {
		problem.Write(w, p)
		return
	}
	if reads(r) && !api.NeedsToken(r.URL.Path) {
		g.next.ServeHTTP(w, r)
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
	if !reads(r) {
		ctx = context.WithValue(ctx, noteKey{}, &auditNote{})
	}
	g.next.ServeHTTP(w, r.WithContext(ctx))
}

// reads says whether a request changes nothing.
func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

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
		g.reads.note("a token", err)
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
			return g.peers.Principal(peer, g.config())
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
	return credentials.Principal{User: t.User, Role: api.Role(t.Role), Token: t.ID, HostKey: t.HostKey, Exchange: t.UsesLeft != nil, Until: t.ExpiresAt}, nil
}

// holds says whether the credential that a stream began with is still good. While the database does not answer, a
// token counts until it expires.
func (g *gate) holds(ctx context.Context) bool {
	p := principalOf(ctx)
	if p.Token == "" {
		peer, ok := credentials.PeerOf(ctx)
		if !ok {
			return false
		}
		_, err := g.peers.Principal(peer, g.config())
		return err == nil
	}
	t, found, err := g.tokens.Get(ctx, p.Token, true)
	if err != nil {
		return time.Now().Before(p.Until)
	}
	return found && credentials.Holds(g.key, t, time.Now())
}

// watch is asked by streams at each turn: every streamHeartbeat it looks whether the credential holds.
func (g *gate) watch(ctx context.Context) func() bool {
	looked := time.Now()
	return func() bool {
		if time.Since(looked) < streamHeartbeat {
			return true
		}
		looked = time.Now()
		return g.holds(ctx)
	}
}
