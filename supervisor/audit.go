package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"qb/api"
	"qb/supervisor/audit"
	"qb/supervisor/credentials"
	"qb/supervisor/facts"
	"qb/supervisor/gate"
	"qb/supervisor/problem"
	"qb/supervisor/store"
	"qb/supervisor/translate"
)

// changes says whether an endpoint is one whose calls leave rows. What workers do has rows of its own, but that they join.
func changes(e api.Endpoint) bool {
	return e.Method != http.MethodGet && e.ID != api.CheckSubmission.ID && e.ID != api.TrySubmission.ID && (e.Role != api.Worker || e.ID == api.Enrol.ID)
}

// requestKey holds who asks from where, for refusals that come before or after the handlers.
type requestKey struct{}

type requestFacts struct {
	id, origin string
	url        url.URL
}

// factsOfRequest are those members of a row that the request gives.
func factsOfRequest(ctx context.Context, e api.Endpoint) facts.AuditFacts {
	p, r := gate.PrincipalOf(ctx), requestFactsOf(ctx)
	return facts.AuditFacts{At: time.Now(), Who: p.User, Token: p.Token, Origin: r.origin, Verb: e.ID, Request: r.id}
}

func requestFactsOf(ctx context.Context) requestFacts {
	r, _ := ctx.Value(requestKey{}).(requestFacts)
	return r
}

// originOf is the uid at the other end of the unix socket, or the address.
func originOf(r *http.Request) string {
	if p, ok := credentials.PeerOf(r.Context()); ok {
		return "unix:" + strconv.FormatUint(uint64(p.Uid), 10)
	}
	return gate.RemoteHost(r)
}

// refused notes a refusal of rights or of a limit, and counts the latter; other refusals are mistakes.
func (s *server) refused(ctx context.Context, e api.Endpoint, p *problem.Problem) {
	if p.Limit == "" && p.Status != http.StatusUnauthorized && p.Status != http.StatusForbidden {
		return
	}
	row := factsOfRequest(ctx, e)
	row.Who = cmp.Or(row.Who, audit.Of(ctx).Who())
	if p.Limit != "" {
		s.metrics.Limited(p.Limit)
		if who := audit.Of(ctx).Limited(row.Who); who != "" {
			s.limits.Refused(who, p.Limit)
		}
	}
	row.Outcome, row.Object = "refused", problem.ClipTo(requestFactsOf(ctx).url.Path, audit.MaxObject)
	row.Code = cmp.Or(p.Limit, strings.TrimPrefix(p.Type, "urn:qb:error:"))
	s.audit.Add(row)
}

// readOthers notes that somebody read output which is not his.
func (s *server) readOthers(ctx context.Context, e api.Endpoint, object string) {
	row := factsOfRequest(ctx, e)
	row.Outcome, row.Object = "read", object
	s.audit.Add(row)
}

type auditIn struct {
	User   string    `query:"user" maxLength:"255" doc:"Only what this user did; empty: everybody."`
	Since  time.Time `query:"since" doc:"Only from this time on."`
	Before int64     `query:"before" minimum:"0" doc:"Only ids below this one: the last id of the page before."`
	Limit  int       `query:"limit" minimum:"1" maximum:"1000" default:"200" doc:"Rows of one page."`
}

type auditOut struct {
	Link string `header:"Link" doc:"The next page, rel=next; absent on the last one."`
	Body []api.AuditEntry
}

// auditLog lists who did what, the newest first.
func (s *server) auditLog(ctx context.Context, in *auditIn) (*auditOut, error) {
	rows, err := s.reader.AuditLog(ctx, store.AuditQuery{User: in.User, Since: in.Since, Before: in.Before, Limit: in.Limit})
	if err != nil {
		return nil, problem.Reading("the audit trail", err)
	}
	out := &auditOut{Body: translate.Each(rows, func(r store.AuditRow) api.AuditEntry {
		return api.AuditEntry{
			ID: r.ID, At: r.At.UTC(), User: r.Who, Token: r.Token, From: r.Origin, Verb: r.Verb, Object: r.Object, Outcome: r.Outcome, Code: r.Code,
			Detail: json.RawMessage(r.Detail), Request: r.Request, Times: r.Times,
		}
	})}
	if len(rows) == in.Limit {
		out.Link = nextPage(ctx, "before", strconv.FormatInt(rows[len(rows)-1].ID, 10))
	}
	return out, nil
}
