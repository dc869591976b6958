package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"qb/api"
	"qb/supervisor/credentials"
	"qb/supervisor/facts"
	"qb/supervisor/message"
	"qb/supervisor/problem"
	"qb/supervisor/store"
	"qb/supervisor/term"
)

// The audit trail has a row for each change, written in the commit of the change, for each read of another's output and
// for each refusal. Reads and refusals are written soon after, so many a minute for each caller; more are only counted,
// so that a flood of them does not fill the database.

// auditNote is what is known of a change before it is done. Handlers add to it; the desk makes a row of it.
type auditNote struct {
	mu     sync.Mutex
	facts  facts.AuditFacts
	detail any
	owner  string // of a job that is submitted for somebody: his limits act
}

type noteKey struct{}

// noteOf is the note of the request, nil if it changes nothing.
func noteOf(ctx context.Context) *auditNote {
	n, _ := ctx.Value(noteKey{}).(*auditNote)
	return n
}

// on names what a change acts on, with what is to be told of it: before and after, where that is small and no secret.
func (n *auditNote) on(object string, detail any) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.facts.Object, n.detail = object, detail
}

// auditChange is what the trail tells of a change: values before and after it, where nothing stood before, null.
type auditChange struct {
	Order  string `json:"order,omitempty"`
	Items  string `json:"items,omitempty"` // that it is for; empty: the whole job
	Owner  string `json:"owner,omitempty"` // of the job
	Before any    `json:"before"`
	After  any    `json:"after"`
}

// changes names the object of a change with its values before and after.
func (n *auditNote) changes(object string, before, after any) {
	n.on(object, auditChange{Before: before, After: after})
}

// made are the rows of something new that is no commit of the farm's.
func (n *auditNote) made(object string, after any) []facts.AuditFacts {
	return n.rows(object, auditChange{After: after})
}

// submitsFor names the owner of the job that is submitted.
func (n *auditNote) submitsFor(owner string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.owner = owner
}

// limited is whose limits act on the request of a user.
func (n *auditNote) limited(user string) string {
	if n == nil {
		return user
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return cmp.Or(n.owner, user)
}

// begin says whose change it is, and of which endpoint.
func (n *auditNote) begin(row facts.AuditFacts) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.facts = row
}

// asks names who sends the request, where no credential did.
func (n *auditNote) asks(user string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.facts.Who = user
}

// who sends the request, as far as is known.
func (n *auditNote) who() string {
	if n == nil {
		return ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.facts.Who
}

// Begun says whether the request is a change that leaves a row.
func (n *auditNote) Begun() bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.facts.Verb != ""
}

// rows are the row of a change that is no commit of the farm's, none if the request leaves none.
func (n *auditNote) rows(object string, detail any) []facts.AuditFacts {
	if !n.Begun() {
		return nil
	}
	n.on(object, detail)
	return []facts.AuditFacts{n.Done(time.Now(), nil)}
}

// Done is the row of the change; body is the farm's reply, which may name a job that was not known before.
func (n *auditNote) Done(now time.Time, body any) facts.AuditFacts {
	n.mu.Lock()
	defer n.mu.Unlock()
	a, detail := n.facts, n.detail
	a.At, a.Outcome = now, "done"
	affected := 0
	switch reply := body.(type) {
	case message.JobReply:
		a.Object = fmt.Sprintf("job %d", reply.Job.ID)
	case message.ActionReply:
		a.Object, affected = fmt.Sprintf("job %d", reply.Job), reply.Affected
	case message.HostReply:
		affected = reply.Affected
		if reply.Host != "" {
			a.Object = "host " + string(reply.Host)
		}
	}
	if c, ok := detail.(auditChange); ok && c.After == nil && body != nil {
		c.After = map[string]int{"affected": affected}
		detail = c
	}
	a.Detail = auditDetail(detail)
	return a
}

// auditDetail is JSON of what is told of a change. What is long is told by its beginning.
func auditDetail(detail any) string {
	if detail == nil {
		return ""
	}
	data, err := json.Marshal(detail)
	for most := maxAuditDetail / 8; err == nil && len(data) > maxAuditDetail && most > 0; most /= 2 {
		var tree any
		if err = json.Unmarshal(data, &tree); err == nil {
			data, err = json.Marshal(clipTree(tree, most))
		}
	}
	if err != nil || len(data) > maxAuditDetail {
		return ""
	}
	return string(data)
}

// clipTree clips the values of a JSON tree below the members before and after.
func clipTree(tree any, most int) any {
	members, ok := tree.(map[string]any)
	if !ok {
		if data, err := json.Marshal(tree); err == nil && len(data) > most {
			return problem.ClipTo(string(data), most)
		}
		return tree
	}
	for name, value := range members {
		members[name] = clipTree(value, most)
	}
	return members
}

// changes says whether an endpoint is one whose calls leave rows. What workers do has rows of its own, but that they join.
func changes(e api.Endpoint) bool {
	return e.Method != http.MethodGet && (e.Role != api.Worker || e.ID == api.Enrol.ID)
}

// requestKey holds who asks from where, for refusals that come before or after the handlers.
type requestKey struct{}

type requestFacts struct {
	id, origin, path string
}

// factsOfRequest are those members of a row that the request gives.
func factsOfRequest(ctx context.Context, e api.Endpoint) facts.AuditFacts {
	p, r := principalOf(ctx), requestFactsOf(ctx)
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
	return remoteHost(r)
}

// auditor writes the rows of refusals and reads.
type auditor struct {
	store  store.Reader
	failed *outage
	queue  chan facts.AuditFacts

	mu      sync.Mutex
	pace    map[string]*rate.Limiter     // by caller
	dropped map[string]*facts.AuditFacts // by caller and outcome
}

func newAuditor(r store.Reader, failed *outage) *auditor {
	return &auditor{store: r, failed: failed, queue: make(chan facts.AuditFacts, auditQueue), pace: map[string]*rate.Limiter{}, dropped: map[string]*facts.AuditFacts{}}
}

// note takes a row if the caller has not had too many; else it is counted.
func (a *auditor) note(row facts.AuditFacts) {
	a.mu.Lock()
	defer a.mu.Unlock()
	caller := cmp.Or(row.Who, row.Origin)
	pace := a.pace[caller]
	if pace == nil {
		if len(a.pace) >= maxCallers {
			clear(a.pace)
		}
		pace = rate.NewLimiter(auditEach, auditBurst)
		a.pace[caller] = pace
	}
	if pace.Allow() {
		select {
		case a.queue <- row:
			return
		default:
		}
	}
	if len(a.dropped) >= auditQueue {
		caller, row = "", facts.AuditFacts{At: row.At}
	}
	if d := a.dropped[caller]; d != nil {
		d.Times++
		return
	}
	a.dropped[caller] = &facts.AuditFacts{At: row.At, Who: row.Who, Token: row.Token, Origin: row.Origin, Verb: row.Verb, Code: row.Code, Outcome: "dropped", Times: 1}
}

// run writes what was noted, about once a second, until ctx ends; then once more.
func (a *auditor) run(ctx context.Context) {
	counted := time.Now()
	for {
		term.Sleep(ctx, auditPause)
		ending := ctx.Err() != nil
		a.write(ending || time.Since(counted) >= time.Minute)
		if time.Since(counted) >= time.Minute {
			counted = time.Now()
		}
		if ending {
			return
		}
	}
}

func (a *auditor) write(alsoDropped bool) {
	var rows []facts.AuditFacts
	for len(a.queue) > 0 && len(rows) < auditQueue {
		rows = append(rows, <-a.queue)
	}
	if alsoDropped {
		a.mu.Lock()
		for _, d := range a.dropped {
			rows = append(rows, *d)
		}
		clear(a.dropped)
		a.mu.Unlock()
	}
	if len(rows) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), readFor)
	defer cancel()
	a.failed.note("refusals and reads", a.store.AddAudits(ctx, rows))
}

// refused notes a refusal of rights or of a limit, and counts the latter; other refusals are mistakes.
func (s *server) refused(ctx context.Context, e api.Endpoint, p *problem.Problem) {
	if p.Limit == "" && p.Status != http.StatusUnauthorized && p.Status != http.StatusForbidden {
		return
	}
	row := factsOfRequest(ctx, e)
	row.Who = cmp.Or(row.Who, noteOf(ctx).who())
	if p.Limit != "" {
		s.metrics.Limited(p.Limit)
		if who := noteOf(ctx).limited(row.Who); who != "" {
			s.limits.Refused(who, p.Limit)
		}
	}
	row.Outcome, row.Object = "refused", problem.ClipTo(requestFactsOf(ctx).path, maxAuditPath)
	row.Code = cmp.Or(p.Limit, strings.TrimPrefix(p.Type, "urn:qb:error:"))
	s.audit.note(row)
}

// readOthers notes that somebody read output which is not his.
func (s *server) readOthers(ctx context.Context, e api.Endpoint, object string) {
	row := factsOfRequest(ctx, e)
	row.Outcome, row.Object = "read", object
	s.audit.note(row)
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
	out := &auditOut{Body: make([]api.AuditEntry, 0, len(rows))}
	for _, r := range rows {
		out.Body = append(out.Body, api.AuditEntry{
			ID: r.ID, At: r.At.UTC(), User: r.Who, Token: r.Token, From: r.Origin, Verb: r.Verb, Object: r.Object, Outcome: r.Outcome, Code: r.Code,
			Detail: json.RawMessage(r.Detail), Request: r.Request, Times: r.Times,
		})
	}
	if len(rows) == in.Limit {
		since := ""
		if !in.Since.IsZero() {
			since = in.Since.Format(time.RFC3339Nano)
		}
		q := queryOf("user", in.User, "since", since, "before", strconv.FormatInt(rows[len(rows)-1].ID, 10), "limit", strconv.Itoa(in.Limit))
		out.Link = fmt.Sprintf("<%s?%s>; rel=\"next\"", api.AuditLog.Path, q)
	}
	return out, nil
}

// beforeAndAfter are those members of a job that a change names, as they are and as they shall be.
func beforeAndAfter(job api.Job, change any) any {
	was, will := membersOf(job), membersOf(change)
	for name := range was {
		if _, named := will[name]; !named {
			delete(was, name)
		}
	}
	return auditChange{Before: was, After: will}
}

func membersOf(v any) map[string]any {
	members := map[string]any{}
	if data, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(data, &members) // what was just encoded
	}
	return members
}
