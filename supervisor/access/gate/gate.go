package gate

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
	"qb/supervisor/access/audit"
	"qb/supervisor/access/credentials"
	"qb/supervisor/access/limits"
	"qb/supervisor/access/listeners"
	"qb/supervisor/access/reads"
	"qb/supervisor/lead/farmkey"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
)

type principalKey struct{}

// PrincipalOf is who sends the request.
func PrincipalOf(ctx context.Context) credentials.Principal {
	p, _ := ctx.Value(principalKey{}).(credentials.Principal)
	return p
}

const (
	FailedTokens = 30 // logged and answered individually, per address and minute
	OpenCalls    = 60 // of logins without a credential, per address and minute
)

// Gate is the middleware before the router. It authenticates a request before anything else of it is read, except
// whether its endpoint is open to all.
type Gate struct {
	Key    farmkey.Key
	Tokens *credentials.Table
	// Stopping ends when the supervisor begins to stop: from then on the port may be another's.
	Stopping context.Context
	process  credentials.Process
	counts   credentials.Counts // of signed requests
	hosts    []string           // names by which this supervisor may be called
	failed   *httprate.RateLimiter
	logins   *httprate.RateLimiter // changes without a credential
	log      *slog.Logger
	reads    *reads.Outage
	peers    credentials.PeerCache
	config   func() *settings.Config                               // in force now
	refused  func(context.Context, api.Endpoint, *problem.Problem) // tells the audit trail
	next     http.Handler
}

// New returns a gate in front of next. It calls refused for each refusal.
func New(stopping context.Context, r store.Reader, config func() *settings.Config, log *slog.Logger,
	failing *reads.Outage, refused func(context.Context, api.Endpoint, *problem.Problem), next http.Handler) *Gate {
	touches := reads.NewOutage(log, "recording the use of tokens")
	perMinute := func(n int) *httprate.RateLimiter {
		return httprate.NewRateLimiter(n, time.Minute,
			httprate.WithResponseHeaders(httprate.ResponseHeaders{RetryAfter: "Retry-After"}))
	}
	return &Gate{
		Stopping: stopping, process: credentials.NewProcess(), config: config, refused: refused,
		Tokens: credentials.NewTable(r, func(err error) { touches.Note("tokens", err) }),
		next:   next, log: log, reads: failing,
		hosts:  listeners.Names(*config()),
		failed: perMinute(FailedTokens), logins: perMinute(OpenCalls),
	}
}

func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := Foreign(r, g.hosts); p != nil {
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
	host := p.HostKey
	if p.Pending != "" {
		host = ""
	}
	listeners.Shown(r.Context(), host)
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
func (g *Gate) anyone(w http.ResponseWriter, r *http.Request) {
	if !changesNothing(r) {
		if g.logins.OnLimit(w, r, httprate.CanonicalizeIP(RemoteHost(r))) {
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

func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problem.Of(err)
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="qb"`)
		if g.failed.OnLimit(w, r, httprate.CanonicalizeIP(RemoteHost(r))) {
			p = problem.Of(limits.Beyond(limits.Credentials, time.Minute,
				"too many requests without a valid token; wait a minute"))
		} else {
			g.log.Warn("refused a credential", "remote", r.RemoteAddr, "method", r.Method, "path", r.URL.Path,
				"reason", p.Detail)
		}
	} else if p.Status >= 500 {
		g.reads.Note("a token", err)
	}
	g.refused(r.Context(), api.Endpoint{ID: r.Method}, p)
	problem.Write(w, p)
}

// RemoteHost is the address that a request comes from, without the port.
func RemoteHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// who finds the principal: that of a door of this process, a token if one is given, else the peer of the unix socket.
func (g *Gate) who(r *http.Request) (credentials.Principal, error) {
	if v, ok := VisitorOf(r.Context()); ok {
		return v.Who(r.Context())
	}
	header := r.Header.Values("Authorization")
	if len(header) == 0 {
		if peer, ok := credentials.PeerOf(r.Context()); ok {
			return g.local(r.Context(), peer)
		}
		return credentials.Principal{},
			api.Errorf(api.KindUnauthorized,
				"no credential: send a token as Authorization: Bearer qb_…, from QB_TOKEN, QB_TOKEN_FILE or the farm's token file")
	}
	if signed, ok := strings.CutPrefix(header[0], signedScheme); ok && len(header) == 1 {
		return g.signer(r, signed)
	}
	text, ok := strings.CutPrefix(header[0], "Bearer ")
	parts, parsed := credentials.Parse(strings.TrimSpace(text))
	if len(header) != 1 || !ok || !parsed {
		return credentials.Principal{},
			api.Errorf(api.KindUnauthorized, "the credential is not a token of the form qb_ROLE_ID_SECRET")
	}
	_, failures, err := g.failed.Status(httprate.CanonicalizeIP(RemoteHost(r)))
	if err != nil {
		return credentials.Principal{}, fmt.Errorf("counting refused credentials: %w", err) // in memory it never fails
	}
	t, found, err := g.Tokens.Get(r.Context(), parts.ID, failures > FailedTokens-1)
	if err != nil {
		return credentials.Principal{}, err
	}
	if !found || !t.HasSecret(g.Key, parts) || t.Revoked || !time.Now().Before(t.ExpiresAt) {
		return credentials.Principal{},
			api.Errorf(api.KindUnauthorized,
				"token %s is unknown, expired or revoked; an admin makes a new one with qbadmin token create", parts.ID)
	}
	if t.SessionOf != "" {
		return credentials.Principal{User: t.User, Token: t.ID},
			api.Errorf(api.KindUnauthorized,
				"%s is the token of a page session and is accepted only with signed requests of the page; make a token for programs with qbadmin token create", t.ID)
	}
	if !t.Holds(g.Key, time.Now()) {
		return credentials.Principal{User: t.User, Token: t.ID}, api.Errorf(api.KindUnauthorized,
			"token %s was changed in the database by other means than qb and is refused; an admin revokes it and makes a new one with qbadmin token create",
			t.ID)
	}
	return g.holder(r.Context(), t.Token)
}

// holder is who has a token that is good.
func (g *Gate) holder(ctx context.Context, t store.Token) (credentials.Principal, error) {
	p := credentials.Principal{User: t.User, Role: api.Role(t.Role), Token: t.ID, HostKey: t.HostKey,
		Exchange: t.UsesLeft != nil, Pending: t.Pending, Until: t.ExpiresAt, Login: t.Name != "", SessionOf: t.SessionOf}
	if giver, ok := p.Giver(); ok {
		from, found, err := g.Tokens.Get(ctx, giver, true)
		if err != nil {
			return p, err
		}
		if !found || !from.Holds(g.Key, time.Now()) {
			return credentials.Principal{User: t.User, Token: t.ID},
				api.Errorf(api.KindUnauthorized, "this session ended with token %s, which it was begun with; log in again", giver)
		}
		p.Login = from.Name != ""
	}
	return g.Tokens.Bounded(ctx, g.Key, p, t.CreatedAt, g.config().UserRights())
}

// local is the user at the other end of the unix socket.
func (g *Gate) local(ctx context.Context, peer credentials.Peer) (credentials.Principal, error) {
	p, err := g.peers.Principal(peer, g.config())
	if err != nil {
		return p, err
	}
	return g.Tokens.Bounded(ctx, g.Key, p, time.Time{}, g.config().UserRights())
}

// Holds says whether the credential that a stream began with is still good, and gives the same rights. While the
// database does not answer, a token counts until it expires, and a local user stays who he was.
func (g *Gate) Holds(ctx context.Context) bool {
	began := PrincipalOf(ctx)
	if began.Token == "" {
		peer, ok := credentials.PeerOf(ctx)
		if !ok {
			return false
		}
		now, err := g.local(ctx, peer)
		return errors.Is(err, problem.ErrDatabase) || err == nil && began.Same(now)
	}
	t, found, err := g.Tokens.Get(ctx, began.Token, true)
	if err != nil {
		return time.Now().Before(began.Until)
	}
	if !found || !t.Holds(g.Key, time.Now()) {
		return false
	}
	now, err := g.holder(ctx, t.Token)
	return errors.Is(err, problem.ErrDatabase) || err == nil && began.Same(now)
}

// Watch is asked by streams at each turn: every so often it looks whether the credential holds.
func (g *Gate) Watch(ctx context.Context, every time.Duration, also func(context.Context) bool) func() bool {
	looked := time.Now()
	return func() bool {
		if time.Since(looked) < every {
			return true
		}
		looked = time.Now()
		return g.Holds(ctx) && (also == nil || also(ctx))
	}
}
