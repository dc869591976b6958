package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
)

// Note is what is known of a change before it is done. Its handler adds to it until it asks the farm; from then on it
// is only read, and the loop makes a row of it.
type Note struct {
	facts  facts.AuditFacts
	detail any
	owner  string // of a job that is submitted for somebody: his limits act
}

type noteKey struct{}

// With gives a request a note.
func With(ctx context.Context, n *Note) context.Context { return context.WithValue(ctx, noteKey{}, n) }

// Of returns the note of the request. For a request that changes nothing the note leaves no row.
func Of(ctx context.Context) *Note {
	if n, ok := ctx.Value(noteKey{}).(*Note); ok {
		return n
	}
	return &Note{}
}

// On sets the object of a change and the detail recorded with it: values before and after, if these are small and not
// secret.
func (n *Note) On(object string, detail any) {
	n.facts.Object, n.detail = object, detail
}

// Change is the detail of a change in the audit trail. Before is null where there was no value.
type Change struct {
	Order  string `json:"order,omitempty"`
	Items  string `json:"items,omitempty"` // that it is for; empty: the whole job
	Owner  string `json:"owner,omitempty"` // of the job
	Before any    `json:"before"`
	After  any    `json:"after"`
}

// Changes names the object of a change with its values before and after.
func (n *Note) Changes(object string, before, after any) {
	n.On(object, Change{Before: before, After: after})
}

// Made are the rows of something new that is no commit of the farm's.
func (n *Note) Made(object string, after any) []facts.AuditFacts {
	return n.Rows(object, Change{After: after})
}

// SubmitsFor names the owner of the job that is submitted.
func (n *Note) SubmitsFor(owner string) {
	n.owner = owner
}

// Limited is whose limits act on the request of a user.
func (n *Note) Limited(user string) string {
	return cmp.Or(n.owner, user)
}

// Begin says whose change it is, and of which endpoint.
func (n *Note) Begin(row facts.AuditFacts) {
	n.facts = row
}

// Asks names who sends the request, where no credential did.
func (n *Note) Asks(user string) {
	n.facts.Who = user
}

// Who sends the request, as far as is known.
func (n *Note) Who() string {
	return n.facts.Who
}

// Begun says whether the request is a change that leaves a row.
func (n *Note) Begun() bool {
	return n.facts.Verb != ""
}

// Rows are the row of a change that is no commit of the farm's, none if the request leaves none.
func (n *Note) Rows(object string, detail any) []facts.AuditFacts {
	if !n.Begun() {
		return nil
	}
	n.On(object, detail)
	return []facts.AuditFacts{n.Done(time.Now(), nil)}
}

// Done is the row of the change; body is the farm's reply, which may name a job that was not known before.
func (n *Note) Done(now time.Time, body any) facts.AuditFacts {
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
	if c, ok := detail.(Change); ok && c.After == nil && body != nil {
		c.After = map[string]int{"affected": affected}
		detail = c
	}
	a.Detail = detailOf(detail)
	return a
}

// detailOf returns the detail of a change as JSON. Long values are cut.
func detailOf(detail any) string {
	if detail == nil {
		return ""
	}
	data, err := json.Marshal(detail)
	for most := maxDetail / 8; err == nil && len(data) > maxDetail && most > 0; most /= 2 {
		var tree any
		if err = json.Unmarshal(data, &tree); err == nil {
			data, err = json.Marshal(clipTree(tree, most))
		}
	}
	if err != nil || len(data) > maxDetail {
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

// BeforeAndAfter are those members of a job that a change names, as they are and as they shall be.
func BeforeAndAfter(job, change any) any {
	was, will := membersOf(job), membersOf(change)
	for name := range was {
		if _, named := will[name]; !named {
			delete(was, name)
		}
	}
	return Change{Before: was, After: will}
}

func membersOf(v any) map[string]any {
	members := map[string]any{}
	if data, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(data, &members) // what was just encoded
	}
	return members
}
