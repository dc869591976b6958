package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"qb/api"
	"qb/supervisor/access/credentials"
	"qb/supervisor/access/gate"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
	"qb/supervisor/wire/translate"
)

// changes reports whether calls of an endpoint leave rows in the audit trail. Of the workers' endpoints only enrolment
// does; their other calls are recorded elsewhere.
func changes(e api.Endpoint) bool {
	return e.Method != http.MethodGet && e.ID != api.CheckSubmission.ID && e.ID != api.CheckOpenJD.ID &&
		e.ID != api.TrySubmission.ID &&
		(e.Role != api.Worker || e.ID == api.Enrol.ID)
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

// originOf is the uid at the other end of the unix socket, the door, or the address.
func originOf(r *http.Request) string {
	if v, ok := gate.VisitorOf(r.Context()); ok {
		return v.Origin
	}
	if p, ok := credentials.PeerOf(r.Context()); ok {
		return "unix:" + strconv.FormatUint(uint64(p.Uid), 10)
	}
	return gate.RemoteHost(r)
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
func (s *adminService) auditLog(ctx context.Context, in *auditIn) (*auditOut, error) {
	rows, err := s.reader.AuditLog(ctx,
		store.AuditQuery{User: in.User, Since: in.Since, Before: in.Before, Limit: in.Limit})
	if err != nil {
		return nil, problem.Reading("the audit trail", err)
	}
	out := &auditOut{Body: translate.Each(rows, func(r store.AuditRow) api.AuditEntry {
		return api.AuditEntry{
			ID: r.ID, At: r.At.UTC(), User: r.Who, Token: r.Token, From: r.Origin, Verb: r.Verb, Object: r.Object,
			Outcome: r.Outcome, Code: r.Code,
			Detail: json.RawMessage(r.Detail), Request: r.Request, Times: r.Times,
		}
	})}
	if len(rows) == in.Limit {
		out.Link = nextPage(ctx, "before", strconv.FormatInt(rows[len(rows)-1].ID, 10))
	}
	return out, nil
}
