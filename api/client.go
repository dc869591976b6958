package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"qb/api/pin"
)

// Limits of what a client accepts.
const (
	maxAnswer    = 256 << 20
	maxErrorBody = 64 << 10
	maxTail      = 64 // behind the value of an answer: a line's end; once it is read, the next call has the connection

	handshakeWithin = 4 * time.Second // of TLS
)

// Params fill an endpoint's path; the ones that its path does not name become the query, which leaves out empty ones:
// they say nothing to any endpoint.
type Params map[string]string

// Client calls a supervisor.
type Client struct {
	base  *url.URL
	token atomic.Pointer[string]
	http  *http.Client
	shown string // the address as it was given
	alone bool   // each call has a connection of its own
}

// NewClient talks to address, a URL such as https://farm:50001 or unix:/path, with the token, which may be empty on a
// unix socket. By TLS it talks to a supervisor of the farm whose fingerprint the token carries; if it carries none, to
// one whose certificate this machine trusts. Without TLS it talks to this machine alone: to root, the own account, that
// of the service (the owner of RunFolder or StateFolder) and those trusted, and to no other account.
func NewClient(address, token string, trusted ...uint32) (*Client, error) {
	return NewClientTo(address, token, nil, trusted...)
}

// NewClientTo is NewClient for a farm whose CAs are known; nil: the token says.
func NewClientTo(address, token string, known *pin.Set, trusted ...uint32) (*Client, error) {
	given := address
	g := guard{shown: given, trusted: trusted, secure: strings.HasPrefix(strings.ToLower(address), "https:")}
	transport := &http.Transport{MaxIdleConnsPerHost: 4, MaxConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
		DialContext:         g.dial,
		TLSHandshakeTimeout: handshakeWithin, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	if _, fingerprint := pin.Cut(token); fingerprint != "" && known == nil {
		if err := pin.Check(fingerprint); err != nil {
			return nil, Errorf(KindUsage, "%v", err)
		}
		known = pin.NewSet([]string{fingerprint}, nil)
	}
	if known != nil {
		transport.TLSClientConfig = known.Config()
	}
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return g.dial(ctx, "unix", path) }
		transport.DisableCompression = true // within a machine it takes more time than it saves
		address = "http://localhost"
	}
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, Errorf(KindUsage,
			"supervisor address %q is neither https://HOST:PORT, nor http://HOST:PORT on this machine, nor unix:PATH", address)
	}
	// A redirect is an answer like any other: followed, it would take token and body to the address that it names.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c := &Client{base: base, http: &http.Client{Transport: transport, CheckRedirect: stay}, shown: given}
	c.UseToken(token)
	return c, nil
}

// NewClientBy calls by a transport of its own, for a supervisor in this process.
func NewClientBy(transport http.RoundTripper) *Client {
	return &Client{base: &url.URL{Scheme: "http", Host: "localhost"}, http: &http.Client{Transport: transport},
		shown: "this supervisor"}
}

// UseToken takes another token for the calls that follow.
func (c *Client) UseToken(token string) {
	secret, _ := pin.Cut(token)
	c.token.Store(&secret)
}

// CloseIdle drops idle connections.
func (c *Client) CloseIdle() { c.http.CloseIdleConnections() }

// Page takes an answer whose header tells more than its body.
type Page struct {
	Header http.Header
	Body   any // points to what the body is decoded into
}

// Call asks an endpoint: in, if not nil, is the JSON body; out, if not nil, takes the answer. Any refusal is
// an *Error; a supervisor that cannot be reached is KindUnavailable.
func (c *Client) Call(ctx context.Context, e Endpoint, params Params, in, out any) error {
	return c.CallWith(ctx, e, params, in, out, nil)
}

// CallWith is Call with a header, such as an Idempotency-Key.
func (c *Client) CallWith(ctx context.Context, e Endpoint, params Params, in, out any, header http.Header) error {
	resp, err := c.Open(ctx, e, params, in, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
		return c.unreachable(ctx, err)
	}
	if page, ok := out.(*Page); ok {
		page.Header, out = resp.Header, page.Body
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(out); err != nil {
		return c.unreachable(ctx, fmt.Errorf("reading the answer: %w", err))
	}
	_, _ = io.CopyN(io.Discard, resp.Body, maxTail) // the answer is there, whatever becomes of the connection
	return nil
}

// Open is Call for answers that are streams; the caller closes the body. Header may be nil.
func (c *Client) Open(ctx context.Context, e Endpoint, params Params, in any,
	header http.Header) (*http.Response, error) {
	if e.Role != Worker { // what workers report is shown to people; it must arrive, and no file is opened by it
		if err := cmp.Or(checkParams(params), CheckText(in)); err != nil {
			return nil, err
		}
	}
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encoding the request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, e.Method, c.url(e, params), body)
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Close = c.alone
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token := c.token.Load(); token != nil && *token != "" {
		req.Header.Set("Authorization", "Bearer "+*token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		return nil, refusalOf(resp)
	}
	return resp, nil
}

func (c *Client) url(e Endpoint, params Params) string {
	path, query := e.Path, url.Values{}
	for name, value := range params {
		hole := "{" + name + "}"
		if strings.Contains(path, hole) {
			path = strings.ReplaceAll(path, hole, url.PathEscape(value))
		} else if value != "" {
			query.Set(name, value)
		}
	}
	address := strings.TrimSuffix(c.base.String(), "/") + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return address
}

// unreachable makes of a transport's error what callers judge by. That the call was given up is returned as it is, if
// it was this one: net/http may also end a call for the end of the call that had its connection before.
func (c *Client) unreachable(ctx context.Context, err error) error {
	switch given := errors.Is(err, context.Canceled); {
	case err == nil, given && ctx.Err() != nil:
		return err
	case given:
		err = errors.New("the connection was closed")
	case errors.Is(err, context.DeadlineExceeded):
		err = errors.New("no answer in time")
	}
	var refused *Error
	if errors.As(err, &refused) {
		return refused
	}
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	if why := untrusted(err); why != "" {
		return &Error{Kind: KindUnavailable, Unsent: true, Text: fmt.Sprintf("nothing was sent to %s: %s", c.shown, why)}
	}
	var opErr *net.OpError
	unsent := errors.As(err, &opErr) && opErr.Op == "dial"
	return &Error{Kind: KindUnavailable, Text: fmt.Sprintf("the supervisor at %s cannot be reached: %v", c.shown, err),
		Unsent: unsent}
}

// untrusted says why the handshake ended before anything was sent; "" if the error is of another kind.
func untrusted(err error) string {
	var pinned *pin.Error
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &pinned):
		return pinned.Text
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "no TLS is spoken there: the supervisor listens on its own machine only; set supervisor_listen there"
	}
	return pin.Explain(err, time.Now())
}

// problem is an RFC 9457 answer; type is urn:qb:error:KIND.
type problem struct {
	Type   string `json:"type"`
	Detail string `json:"detail"`
	Title  string `json:"title"`
	Limit  string `json:"limit"`
	Code   string `json:"code"`
	Errors []struct {
		Message  string `json:"message"`
		Location string `json:"location"`
	} `json:"errors"`
}

// retryAfterOf is the Retry-After of a caller who did too much at a time; a service that is unavailable is asked again
// as the caller sees fit.
func retryAfterOf(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 || resp.StatusCode != http.StatusTooManyRequests {
		return 0
	}
	return time.Duration(min(seconds, 3600)) * time.Second
}

func refusalOf(resp *http.Response) error {
	standby, listens := resp.Header.Get(StandbyHeader) != "", resp.Header.Get(StandbyHeader) == StandbyListens
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	var p problem
	if json.Unmarshal(data, &p) != nil || (p.Detail == "" && p.Title == "") {
		return &Error{Kind: KindOfStatus(resp.StatusCode), Text: "the supervisor answered " + resp.Status, Standby: standby,
			Listens: listens}
	}
	kind := KindOfStatus(resp.StatusCode)
	if k, ok := strings.CutPrefix(p.Type, "urn:qb:error:"); ok {
		kind = Kind(k)
	}
	text := cmp.Or(p.Detail, p.Title)
	for _, e := range p.Errors[min(1, len(p.Errors)):] { // the detail has the first
		text += "; " + strings.TrimSpace(e.Location+" "+e.Message)
	}
	return &Error{Kind: kind, Text: text, Code: p.Code, Standby: standby, Listens: listens, Limit: p.Limit,
		RetryAfter: retryAfterOf(resp)}
}
