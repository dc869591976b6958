package sso

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"

	"qb/api"
	"qb/internal/statedir"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/wire/settings"
)

const (
	answerWithin = 8 * time.Second // of the provider, each call
	maxAnswer    = 512 << 10       // bytes
	maxReason    = 300             // of the provider's words that are passed on
	callsAtOnce  = 32
	knownFor     = time.Hour       // the provider's document
	failedFor    = 5 * time.Second // a provider that could not be asked is not asked again

	maxDeviceCode = 4096
	maxShown      = 500 // of a code or address for the person
	leastInterval = 1   // seconds
	mostInterval  = 60
	usualInterval = 5 // RFC 8628
	mostExpiry    = 30 * time.Minute
	deviceGrant   = "urn:ietf:params:oauth:grant-type:device_code"
)

// ErrPending says that the person has not logged in yet, ErrSlowDown that the provider was asked too often.
var (
	ErrPending  = errors.New("the person has not logged in yet")
	ErrSlowDown = errors.New("the provider wants to be asked less often")

	errTooLong = errors.New("the answer is too long")
	errUnsafe  = errors.New("the provider names an address that is neither https nor on loopback")
)

// Device is a login that has begun.
type Device struct {
	Code     string // for Finish; secret, as it gives access to the login's result
	UserCode string // for the person
	URL      string // where the person enters it
	FullURL  string // the same with the code in it; may be empty
	Until    time.Time
	Interval int // seconds between two calls of Finish
}

// Provider is the one of the configuration in force.
type Provider struct {
	config func() *settings.Config
	log    *slog.Logger
	client *http.Client
	pace   *rate.Limiter
	places chan struct{}

	mu     sync.Mutex
	issuer string // that the rest is of
	known  *oidc.Provider
	err    error
	at     time.Time
}

// New makes a provider; nothing is asked yet.
func New(config func() *settings.Config, log *slog.Logger) *Provider {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxConnsPerHost, transport.MaxResponseHeaderBytes = callsAtOnce, 64<<10
	return &Provider{
		config: config, log: log, pace: rate.NewLimiter(20, 100), places: make(chan struct{}, callsAtOnce),
		client: &http.Client{Transport: bounded{transport}, Timeout: answerWithin, // a redirect would take codes elsewhere
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// Begin asks the provider for a code for a person.
func (p *Provider) Begin(ctx context.Context) (Device, error) {
	c, leave, err := p.enter()
	if err != nil {
		return Device{}, err
	}
	defer leave()
	ctx = oidc.ClientContext(ctx, p.client)
	_, flow, err := p.flow(ctx, c)
	if err != nil {
		return Device{}, err
	}
	if flow.Endpoint.DeviceAuthURL == "" {
		return Device{}, p.failed(
			errors.New("the provider has no device_authorization_endpoint; enable the device flow there"))
	}
	var options []oauth2.AuthCodeOption
	if flow.ClientSecret != "" { // the library sends it with later calls only
		options = append(options, oauth2.SetAuthURLParam("client_secret", flow.ClientSecret))
	}
	got, err := flow.DeviceAuth(ctx, options...)
	if err != nil {
		return Device{}, p.failed(err)
	}
	d := Device{Code: got.DeviceCode, UserCode: got.UserCode, URL: got.VerificationURI,
		FullURL: got.VerificationURIComplete, Interval: int(got.Interval)}
	if d.Code == "" || len(d.Code) > maxDeviceCode || d.UserCode == "" ||
		max(len(d.UserCode), len(d.URL), len(d.FullURL)) > maxShown ||
		!settings.SafeURL(d.URL) || d.FullURL != "" && !settings.SafeURL(d.FullURL) {
		return Device{}, p.failed(
			errors.New("the provider's answer has no device code, user code and address that can be used"))
	}
	if d.Interval == 0 {
		d.Interval = usualInterval
	}
	d.Interval = min(max(d.Interval, leastInterval), mostInterval)
	d.Until = time.Now().Add(mostExpiry)
	if !got.Expiry.IsZero() && got.Expiry.Before(d.Until) {
		d.Until = got.Expiry
	}
	return d, nil
}

// Finish asks the provider once whether the person has logged in, and who that is.
func (p *Provider) Finish(ctx context.Context, deviceCode string) (Identity, error) {
	c, leave, err := p.enter()
	if err != nil {
		return Identity{}, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), 3*answerWithin)
	defer cancel()
	known, flow, err := p.flow(ctx, c)
	if err != nil {
		return Identity{}, err
	}
	// Exchange with another grant: the library's own loop would hold the caller's connection until the person is done.
	token, err := flow.Exchange(ctx, "", oauth2.SetAuthURLParam("grant_type", deviceGrant),
		oauth2.SetAuthURLParam("device_code", deviceCode))
	if err != nil {
		return Identity{}, p.refused(err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return Identity{}, p.failed(
			errors.New("the provider sent no ID token; it must support OpenID Connect with the device flow"))
	}
	return verify(ctx, known, raw, c)
}

// enter takes a place among the calls, so that floods of logins end here.
func (p *Provider) enter() (c *settings.Config, leave func(), err error) {
	if c = p.config(); !c.SSO() {
		return nil, nil, api.Errorf(api.KindConflict,
			"this farm has no single sign-on (supervisor_oidc_issuer); log in with the code of an invitation, which an admin makes with qbadmin user invite NAME")
	}
	full := api.Errorf(api.KindUnavailable, "too many people log in at a time; try again in a moment")
	if !p.pace.Allow() {
		return nil, nil, full
	}
	select {
	case p.places <- struct{}{}:
		return c, func() { <-p.places }, nil
	default:
		return nil, nil, full
	}
}

// flow is how the provider is spoken to now.
func (p *Provider) flow(ctx context.Context, c *settings.Config) (*oidc.Provider, *oauth2.Config, error) {
	known, err := p.discover(ctx, c.OIDCIssuer)
	if err != nil {
		return nil, nil, p.failed(err)
	}
	secret, err := statedir.ReadSecret(c.OIDCSecretFile)
	if err != nil {
		p.log.Error("cannot read supervisor_oidc_client_secret_file", "error", err)
		return nil, nil, api.Errorf(api.KindUnavailable,
			"the supervisor cannot read its client secret; ask the farm's administrator, the supervisor's log has more")
	}
	var document struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := known.Claims(&document); err != nil {
		return nil, nil, p.failed(err)
	}
	flow := &oauth2.Config{ClientID: c.OIDCClientID, ClientSecret: secret, Endpoint: known.Endpoint(),
		Scopes: []string{oidc.ScopeOpenID}}
	// To find the style out would take a second call, which providers count as one too many.
	flow.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	if secret != "" && (len(document.Methods) == 0 || slices.Contains(document.Methods, "client_secret_basic")) {
		flow.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	}
	for _, scope := range facts.SplitList(c.OIDCScopes) {
		if scope != oidc.ScopeOpenID {
			flow.Scopes = append(flow.Scopes, scope)
		}
	}
	return known, flow, nil
}

// discover reads the provider's document, again when it is old. Callers wait for one reading, and share its failure.
func (p *Provider) discover(ctx context.Context, issuer string) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	good := knownFor
	if p.err != nil {
		good = failedFor
	}
	if p.issuer != issuer || time.Since(p.at) >= good {
		p.known, p.err = oidc.NewProvider(context.WithoutCancel(ctx), issuer)
		p.issuer, p.at = issuer, time.Now()
	}
	return p.known, p.err
}

// failed tells the log what is wrong with the provider. Callers, who may be anybody, learn nothing of the network
// behind.
func (p *Provider) failed(err error) error {
	p.log.Warn("the provider of single sign-on cannot be used", "reason", problem.ClipTo(reasonOf(err), maxReason))
	return api.Errorf(api.KindUnavailable,
		"the provider of single sign-on cannot be used now; try again, or log in with the code of an invitation. The supervisor's log has the reason")
}

// refused translates the answers of RFC 8628.
func (p *Provider) refused(err error) error {
	said, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return p.failed(err)
	}
	switch said.ErrorCode {
	case "authorization_pending":
		return ErrPending
	case "slow_down":
		return ErrSlowDown
	case "access_denied":
		return refusal("the login was refused at the provider")
	case "expired_token":
		return refusal("nobody logged in at the provider in time; run qb login again")
	case "invalid_grant":
		return refusal("the provider does not know this login, or it was used before; run qb login again")
	}
	return p.failed(err)
}

// reasonOf says what went wrong without bodies, which may hold codes.
func reasonOf(err error) string {
	if said, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Sprintf("the provider answers %q (%s)", problem.Clip(said.ErrorCode), said.Response.Status)
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Sprintf("no answer in %s", answerWithin)
	}
	return err.Error()
}

// bounded speaks to safe addresses only, and reads no answer that is too long.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if !settings.SafeURL(r.URL.String()) {
		return nil, errUnsafe
	}
	resp, err := b.next.RoundTrip(r)
	if err == nil {
		resp.Body = &boundedBody{resp.Body, maxAnswer}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(to []byte) (int, error) {
	if b.left <= 0 {
		_ = b.Close() // the library leaves it open
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(to[:min(len(to), b.left)])
	b.left -= n
	return n, err
}
