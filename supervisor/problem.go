package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"qb/api"
	"qb/supervisor/outbox"
	"qb/supervisor/store"
	"qb/supervisor/store/postgres"
)

// problem is the RFC 9457 form of a refusal; its type is urn:qb:error:KIND.
type problem struct {
	Type   string         `json:"type" doc:"urn:qb:error:KIND; the kinds are a closed set that only grows." example:"urn:qb:error:not-found"`
	Title  string         `json:"title" doc:"The status in words."`
	Status int            `json:"status" doc:"The HTTP status."`
	Detail string         `json:"detail" doc:"What, with what, and the way out."`
	Code   string         `json:"code,omitempty" doc:"Upon which a program may act, whatever the detail says; name-taken: another host has the worker's name." example:"name-taken"`
	Limit  string         `json:"limit,omitempty" doc:"Of kind limit: which one, such as submissions or open-jobs."`
	Errors []problemPlace `json:"errors,omitempty" doc:"The places in the request that cannot be."`

	retry   time.Duration // when the request may succeed; 0: as for others of its kind
	standby string        // the leader's URL, of a refusal by one who does not lead
}

// problemPlace is one place of a request that was refused.
type problemPlace struct {
	Message  string `json:"message"`
	Location string `json:"location,omitempty" doc:"Such as body.priority or query.limit."`
}

func (p *problem) Error() string             { return p.Detail }
func (p *problem) GetStatus() int            { return p.Status }
func (p *problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders tells those who came at a bad time when to come again.
func (p *problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(cmp.Or(p.retry, retryAfter*time.Second).Seconds())))))
	}
	if p.standby != "" {
		h.Set(api.StandbyHeader, p.standby)
	}
	return h
}

func newProblem(kind api.Kind, status int, detail string) *problem {
	return &problem{Type: "urn:qb:error:" + string(kind), Title: http.StatusText(status), Status: status, Detail: detail}
}

// asProblem turns any error of a handler into the answer. The world's errors become unavailable, ours
// internal; neither shows its text, which is for the log.
func asProblem(err error) *problem {
	var p *problem
	var e *api.Error
	var r *outbox.Refusal
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &e):
		p = limitProblem(newProblem(e.Kind, e.Kind.Status(), e.Text), e.Limit, e.RetryAfter)
		p.Code = e.Code
		return p
	case errors.As(err, &r):
		kind := api.Kind(r.Kind)
		p = limitProblem(newProblem(kind, kind.Status(), r.Text), r.Limit, r.Wait)
		p.Code = r.Code
		return p
	case errors.Is(err, store.ErrFull):
		return newProblem(errFull.Kind, errFull.Kind.Status(), errFull.Text)
	case errors.Is(err, errDatabase), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return newProblem(api.KindUnavailable, http.StatusServiceUnavailable, databaseTrouble(err)+"; try again in a moment")
	}
	return newProblem(api.KindInternal, http.StatusInternalServerError, "the supervisor failed on this request; its log says why")
}

// limitProblem names the limit. What only time is needed for is 429; what jobs that are there keep from fitting is 409;
// what is too large by itself stays 413.
func limitProblem(p *problem, limit string, wait time.Duration) *problem {
	p.Limit, p.retry = limit, wait
	switch {
	case limit != "" && wait > 0:
		p.Status = http.StatusTooManyRequests
	case limit == limitStored:
		p.Status = http.StatusConflict
	}
	p.Title = http.StatusText(p.Status)
	return p
}

// errDatabase marks errors of reads from the database.
var errDatabase = errors.New("reading from the database")

func reading(what string, err error) error {
	return fmt.Errorf("%w: %s: %w", errDatabase, what, postgres.Named(err))
}

// databaseTrouble says what is wrong with the database, to anybody: no user, host or statement.
func databaseTrouble(err error) string {
	for _, cause := range []error{store.ErrFull, store.ErrReadOnly, store.ErrConnections, store.ErrPooler, store.ErrRefused} {
		if errors.Is(err, cause) {
			return cause.Error()
		}
	}
	return "the database does not answer"
}

// placeOf keeps the place and the reason of a rejected value. The value itself is shown only where it
// cannot be a secret and is short.
func placeOf(message, location string, value any) problemPlace {
	secret := strings.HasPrefix(location, "body.env") || strings.HasPrefix(location, "body.command") || strings.HasPrefix(location, "header.")
	switch v := value.(type) {
	case string:
		if v != "" && len(v) <= 64 && !secret {
			message += fmt.Sprintf(", not %q", v)
		}
	case float64, int, int64, bool:
		if !secret {
			message += fmt.Sprintf(", not %v", v)
		}
	}
	return problemPlace{Message: message, Location: location}
}

// writeProblem answers outside of the operations: before the router, or where it found nothing.
func writeProblem(w http.ResponseWriter, p *problem) {
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the status is out; the reader may be gone
}
