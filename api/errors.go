package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Kind is the closed, append-only set of reasons for which a request is refused. Client and server share
// it, and each has one HTTP status and one exit code.
type Kind string

// The kinds.
const (
	KindInvalid      Kind = "invalid"      // 422, exit 1: a value that cannot be
	KindNotFound     Kind = "not-found"    // 404, exit 1
	KindConflict     Kind = "conflict"     // 409, exit 1: not in a state for this
	KindStale        Kind = "stale"        // 412, exit 1: changed since it was read
	KindLimit        Kind = "limit"        // 409, 413 or 429, exit 1
	KindUnauthorized Kind = "unauthorized" // 401, exit 4
	KindForbidden    Kind = "forbidden"    // 403, exit 4
	KindUnavailable  Kind = "unavailable"  // 503, exit 3: try again later
	KindUsage        Kind = "usage"        // never sent; exit 2
	KindInternal     Kind = "internal"     // 500, exit 1
)

// CodeNameTaken refuses a worker whose name, or whose key under another name, another one has: it freezes all that it
// runs.
const CodeNameTaken = "name-taken"

// CodeOtherRun refuses a request that a page signed for an earlier run of the supervisor; nothing was done.
const CodeOtherRun = "other-run"

// CodeHostPending refuses a worker whose host waits for a person's approval.
const CodeHostPending = "host-pending"

// Error is a refusal in words: what, with what, and the way out.
type Error struct {
	Kind    Kind
	Text    string
	Member  string // of the request, which is refused; empty: it is not one member
	Code    string // upon which the caller acts, whatever the text says; empty: none
	Listens bool   // it would hear a worker, see StandbyListens
	Standby bool   // the supervisor does not lead and did nothing; another address may
	Unsent  bool   // the request reached no supervisor

	Limit      string        // of KindLimit: which one
	RetryAfter time.Duration // when to try again; 0: not said
}

func (e *Error) Error() string { return e.Text }

// Errorf makes a refusal.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// Refusal is the refusal that an error is; the zero Error if it is none.
func Refusal(err error) Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return *e
	}
	return Error{}
}

// Undone says of a failed call that it certainly changed nothing: it reached no one, or was refused as a whole by one
// who does not lead or has too much to do.
func Undone(err error) bool {
	e := Refusal(err)
	return e.Standby || e.Unsent || e.Kind == KindLimit
}

var statuses = map[Kind]int{
	KindInvalid: http.StatusUnprocessableEntity, KindNotFound: http.StatusNotFound,
	KindConflict: http.StatusConflict, KindStale: http.StatusPreconditionFailed,
	KindLimit: http.StatusRequestEntityTooLarge, KindUnauthorized: http.StatusUnauthorized,
	KindForbidden: http.StatusForbidden, KindUnavailable: http.StatusServiceUnavailable,
	KindUsage: http.StatusBadRequest, KindInternal: http.StatusInternalServerError,
}

// Status is the HTTP status of a kind.
func (k Kind) Status() int { return cmp.Or(statuses[k], http.StatusInternalServerError) }

// KindOfStatus is the kind a client sees in a status when the answer does not name one.
func KindOfStatus(status int) Kind {
	return cmp.Or(kinds[status], KindInternal)
}

var kinds = map[int]Kind{
	http.StatusBadRequest: KindInvalid, http.StatusMethodNotAllowed: KindInvalid,
	http.StatusUnsupportedMediaType: KindInvalid,
	http.StatusUnprocessableEntity:  KindInvalid, http.StatusNotFound: KindNotFound,
	http.StatusConflict: KindConflict, http.StatusPreconditionFailed: KindStale,
	http.StatusRequestEntityTooLarge: KindLimit, http.StatusTooManyRequests: KindLimit,
	http.StatusUnauthorized: KindUnauthorized, http.StatusForbidden: KindForbidden,
	http.StatusServiceUnavailable: KindUnavailable, http.StatusBadGateway: KindUnavailable,
	http.StatusGatewayTimeout: KindUnavailable,
}

// ExitCode is what a command ends with: 0 done, 1 refused, 2 wrong usage, 3 not reachable, 4 not allowed.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	return cmp.Or(exits[Refusal(err).Kind], 1)
}

var exits = map[Kind]int{KindUsage: 2, KindUnavailable: 3, KindUnauthorized: 4, KindForbidden: 4}

// SettingError is a setting of qb.conf that cannot be used.
type SettingError struct {
	Key  string
	text string // behind the key: the value, and what to write instead
}

func (e *SettingError) Error() string { return e.Key + e.text }

// BadSetting makes a SettingError; the text follows the key, such as " = 5: use 10 or more".
func BadSetting(key, format string, args ...any) error {
	return &SettingError{Key: key, text: fmt.Sprintf(format, args...)}
}
