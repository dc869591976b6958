package outbox

import (
	"fmt"
	"time"

	"qb/supervisor/job/facts"
)

// Ticket ties a reply to the request that waits for it; 0 wants none.
type Ticket uint64

// Batch is what must be made durable, in this order, and what may be said afterwards.
type Batch struct {
	Writes  []facts.Write
	Replies []Reply
}

// Reply answers the request that holds the ticket. Exactly one of Err and Body is set.
type Reply struct {
	Ticket Ticket
	Body   any // a reply of package farm, as JobReply
	Err    *Refusal
}

// Refusal is the user's mistake, in words that name the thing, the value and the way out.
type Refusal struct {
	Kind  string // one of the kinds of package api: not-found, invalid, conflict, forbidden, limit, unavailable
	Text  string
	Limit string        // of kind limit: which one
	Wait  time.Duration // until the request may succeed; 0: unknown
	Code  string        // upon which a worker acts; empty: none

	Member string // of the request, that was refused; empty: none alone
}

func (r *Refusal) Error() string { return r.Text }

// limitWait is when a call that a limit refused may succeed.
const limitWait = 10 * time.Second

// Limited is the refusal of a request that is beyond a limit for now.
func Limited(limit, format string, args ...any) *Refusal {
	return &Refusal{Kind: "limit", Limit: limit, Wait: limitWait, Text: fmt.Sprintf(format, args...)}
}

// Refused is a refusal of that kind.
func Refused(kind, format string, args ...any) *Refusal {
	return &Refusal{Kind: kind, Text: fmt.Sprintf(format, args...)}
}
