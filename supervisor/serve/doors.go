package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/access/credentials"
	"qb/supervisor/access/gate"
	"qb/supervisor/lead/problem"
	"qb/supervisor/wire/settings"
)

// Door is an entrance of this process for programs that know a protocol of their own and show no credential.
type Door struct {
	Said func() string               // by pings: what is open, and to whom, by the settings in force
	Run  func(context.Context) error // until the context ends
}

// Visit is who asks by a door, and for whom.
type Visit struct {
	Door string
	From string   // the address, or the folder
	User string   // as whom it asks
	Open []string // the users for whom the site has opened the door
}

// Inside is the farm for doors. What a door asks goes the way of every request, as a user without a credential: the
// same rights, limits, checks and rows of the audit trail.
type Inside struct{ s *server }

// Settings are those in force now.
func (i Inside) Settings() *settings.Config { return i.s.live.now.Load() }

// Leads says whether this supervisor leads now: another one refuses submissions.
func (i Inside) Leads() bool { return i.s.loop.Load() != nil }

// Version is that of the supervisor.
func (i Inside) Version() string { return i.s.version }

// Log is the supervisor's.
func (i Inside) Log() *slog.Logger { return i.s.log }

// Client calls as the visitor, whose rights are looked up at each call.
func (i Inside) Client(v Visit) *api.Client { return api.NewClientBy(visitor{i.s, v}) }

// visitor answers requests without a connection.
type visitor struct {
	s *server
	Visit
}

func (v visitor) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	asked := gate.Visitor{Origin: v.Door + ":" + v.From,
		Who: func(ctx context.Context) (credentials.Principal, error) { return v.s.visiting(ctx, v.Visit) }}
	r = r.Clone(gate.WithVisitor(r.Context(), asked))
	r.Host, r.RequestURI = r.URL.Host, r.URL.RequestURI()
	r.RemoteAddr = v.From
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := &heldAnswer{header: http.Header{}, status: http.StatusOK}
	defer func() {
		if p := recover(); p != nil { // the server has logged it, or the caller is gone
			err = errors.New("the answer was broken off")
		}
	}()
	v.s.ServeHTTP(w, r)
	return &http.Response{StatusCode: w.status, Status: fmt.Sprint(w.status, " ", http.StatusText(w.status)),
		Header: w.header, Body: io.NopCloser(&w.body), Request: r}, nil
}

// heldAnswer is an answer in memory. The body of its request is there as a whole, so that its deadline is none.
type heldAnswer struct {
	header  http.Header
	status  int
	written bool
	body    bytes.Buffer
}

func (w *heldAnswer) Header() http.Header { return w.header }

func (w *heldAnswer) WriteHeader(status int) {
	if !w.written {
		w.status = status
	}
	w.written = true
}

func (w *heldAnswer) Write(p []byte) (int, error) {
	w.written = true
	return w.body.Write(p)
}

func (w *heldAnswer) SetReadDeadline(time.Time) error { return nil }

// visiting is who a visitor is. A door never gives more than what each user may do: root, the supervisor's own account,
// operators and admins are refused, as are unknown users, and users for whom the site has not opened it.
func (s *server) visiting(ctx context.Context, v Visit) (credentials.Principal, error) {
	p := credentials.Principal{User: v.User}
	refuse := func(why string, args ...any) (credentials.Principal, error) {
		return p, api.Errorf(api.KindForbidden, "the door %s is closed to user %q: %s", v.Door, problem.Clip(v.User),
			fmt.Sprintf(why, args...))
	}
	if v.User == "" || !slices.Contains(v.Open, v.User) {
		return refuse("the site has not opened it to this user")
	}
	account := s.jobs.users.Of(ctx, v.User).Account
	switch {
	case account == nil:
		return p, api.Errorf(api.KindUnavailable, "the account of user %s could not be looked up in time; try again",
			problem.Clip(v.User))
	case account.Unknown:
		return refuse("this machine knows no such user")
	case account.UID == 0 || credentials.IsService(v.User):
		return refuse("it is root or the supervisor's own account, and a door without a login gives nobody their rights")
	}
	cfg := s.live.now.Load()
	p.Role = api.User
	if err := credentials.Admitted(p, account.UID, cfg); err != nil {
		return p, err
	}
	bounded, err := s.gate.Tokens.Bounded(ctx, s.gate.Key, p, time.Time{}, cfg.UserRights())
	if err != nil {
		return p, err
	}
	if !api.UserRights.Has(bounded.Rights) || !api.User.Allows(bounded.Role) {
		return refuse("the user has the role %s, or rights beyond those of users, and a door without a login gives nobody such rights",
			bounded.Role)
	}
	bounded.Leads = nil
	bounded.SubmitAs = nil
	return bounded, nil
}
