package problem

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"qb/api"
	"qb/supervisor/store"
	"qb/supervisor/store/postgres"
)

// retryAfter is when requests that are refused as unavailable may be sent again.
const retryAfter = 2 * time.Second

// StalledAfter is how long a commit may take until the requests that wait for it are refused.
const StalledAfter = 4 * time.Second

// LimitStored is the limit on the bytes that a user's jobs take in the database.
const LimitStored = "stored-bytes"

// Problem is the RFC 9457 form of a refusal; its type is urn:qb:error:KIND.
type Problem struct {
	Type    string         `json:"type" doc:"urn:qb:error:KIND; the kinds are a closed set that only grows." example:"urn:qb:error:not-found"`
	Title   string         `json:"title" doc:"The status in words."`
	Status  int            `json:"status" doc:"The HTTP status."`
	Detail  string         `json:"detail" doc:"What happened and why, with the value, and what to do; of several problems the first."`
	Code    string         `json:"code,omitempty" doc:"Upon which a program may act, whatever the detail says; name-taken: another host has the worker's name; host-pending: the host waits for approval; worker-too-old, worker-too-new: its protocol is too far from the supervisor's; other-run: a page signed the request for an earlier run of the supervisor." example:"name-taken"`
	Limit   string         `json:"limit,omitempty" doc:"Of kind limit: which one, such as submissions or open-jobs."`
	Promise string         `json:"promise,omitempty" doc:"Of a supervisor that stands by: in what the lease, grace and margin that it would promise differ from those in the rows."`
	Errors  []ProblemPlace `json:"errors,omitempty" doc:"All places in the request that cannot be; detail has the first."`

	retry   time.Duration // when the request may succeed; 0: as for others of its kind
	Standby string        `json:"-"` // the leader's URL, of a refusal by one who does not lead
}

// ProblemPlace is one place of a request that was refused.
type ProblemPlace struct {
	Message  string `json:"message"`
	Location string `json:"location,omitempty" doc:"Such as body.priority or query.limit."`
}

func (p *Problem) Error() string             { return p.Detail }
func (p *Problem) GetStatus() int            { return p.Status }
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders sets Retry-After where a later call may succeed, and names the standby.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(cmp.Or(p.retry, retryAfter).Seconds())))))
	}
	if p.Standby != "" {
		h.Set(api.StandbyHeader, p.Standby)
	}
	return h
}

func New(kind api.Kind, status int, detail string) *Problem {
	return &Problem{Type: "urn:qb:error:" + string(kind), Title: http.StatusText(status), Status: status, Detail: detail}
}

// Of turns any error of a handler into the answer. Errors of the environment become unavailable, errors of the program
// internal. Neither shows its text, which is for the log.
func Of(err error) *Problem {
	var p *Problem
	var e *api.Error
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &e):
		p = New(e.Kind, httpStatus(e), e.Text)
		p.Code = e.Code
		p.Limit = e.Limit
		p.retry = e.RetryAfter
		if e.Member != "" {
			p.Errors = []ProblemPlace{{Message: e.Text, Location: e.Member}}
		}
		return p
	case errors.Is(err, store.ErrFull):
		return Of(ErrFull)
	case errors.Is(err, store.ErrCharacter):
		return New(api.KindInvalid, api.KindInvalid.Status(), store.ErrCharacter.Error())
	case errors.Is(err, ErrDatabase), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return New(api.KindUnavailable, http.StatusServiceUnavailable, DatabaseTrouble(err)+"; try again in a moment")
	}
	return New(api.KindInternal, http.StatusInternalServerError, "the supervisor failed on this request; its log says why")
}

// httpStatus returns 429 for a limit that time lifts, and 409 for the limit on stored bytes, which existing jobs fill.
// A request that is too large remains 413.
func httpStatus(e *api.Error) int {
	switch {
	case e.Limit != "" && e.RetryAfter > 0:
		return http.StatusTooManyRequests
	case e.Limit == LimitStored:
		return http.StatusConflict
	}
	return e.Kind.Status()
}

// ErrDatabase marks errors of reads from the database.
var ErrDatabase = errors.New("reading from the database")

// Reading marks an error of reading something from the database, or of changing it there; nil stays nil.
func Reading(what string, err error) error {
	var refused *api.Error
	if err == nil || errors.As(err, &refused) { // a limit: the database was not asked
		return err
	}
	return fmt.Errorf("%w: %s: %w", ErrDatabase, what, postgres.Named(err))
}

// DatabaseTrouble says what is wrong with the database, to anybody: no user, host or statement.
func DatabaseTrouble(err error) string {
	for _, cause := range []error{store.ErrOlderServer, store.ErrSuperseded, store.ErrFull, store.ErrReadOnly,
		store.ErrConnections, store.ErrPooler, store.ErrRefused} {
		if errors.Is(err, cause) {
			return cause.Error()
		}
	}
	return "the database does not answer"
}

// PlaceOf keeps the place and the reason of a rejected value. The value itself is shown only where it
// cannot be a secret and is short.
func PlaceOf(message, location string, value any) ProblemPlace {
	secret := location == "body" || strings.HasPrefix(location, "body.env") ||
		strings.HasPrefix(location, "body.command") || strings.HasPrefix(location, "header.")
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
	return ProblemPlace{Message: message, Location: location}
}

// Write answers outside of the operations: before the router, or where it found nothing.
func Write(w http.ResponseWriter, p *Problem) {
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the status is out; the reader may be gone
}

// Invalid names the field, the value and the way out.
func Invalid(field, format string, args ...any) error {
	return &api.Error{Kind: api.KindInvalid, Member: field, Text: field + ": " + fmt.Sprintf(format, args...)}
}

// Clip shortens a value that an error repeats.
func Clip(s string) string { return ClipTo(s, 40) }

// ClipTo cuts a text that is longer than most bytes.
func ClipTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// What a request hears when no word on it will come.
var (
	ErrStalled = api.Errorf(api.KindUnavailable,
		"the database has not answered for %s; the outcome is not known, repeat the request in a moment", StalledAfter)
	ErrFull = api.Errorf(api.KindUnavailable,
		"the disk of the database is full, nothing was changed; free some space on it, and repeat the request")
	ErrUnproven = api.Errorf(api.KindUnavailable, "the database has not answered for %s; try again in a moment",
		StalledAfter)
	ErrNoAnswer = api.Errorf(api.KindUnavailable, "no answer in time; the outcome is not known, repeat the request")
)
