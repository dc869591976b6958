package supervisor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"qb/api"
	"qb/supervisor/audit"
	"qb/supervisor/credentials"
	"qb/supervisor/facts"
	"qb/supervisor/gate"
	"qb/supervisor/listeners"
	"qb/supervisor/problem"
	"qb/supervisor/rowlist"
	"qb/supervisor/web"
)

// routes is what newRouter builds on: every operation goes through mount or mountStream.
type routes struct {
	server  *server
	api     huma.API
	mounted []string // ids of endpoints
}

// newRouter registers exactly the endpoints of api.Endpoints.
func newRouter(s *server) (http.Handler, error) {
	router := chi.NewRouter()
	router.Use(middleware.GetHead, gate.AddressInUTF8)
	router.NotFound(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, problem.New(api.KindNotFound, http.StatusNotFound, "there is nothing at this path; see "+api.Document.Path))
	})
	router.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, problem.New(api.KindInvalid, http.StatusMethodNotAllowed, "this path does not know the method "+r.Method+"; see "+api.Document.Path))
	})
	_, err := mountAll(s, router)
	return router, err
}

func mountAll(s *server, router chi.Router) (*routes, error) {
	useOwnProblems()
	rt := &routes{server: s, api: humachi.New(router, humaConfig())}
	long := body(maxBody)
	mount(rt, api.Submit, s.submit, long, created)
	mount(rt, api.CheckSubmission, led(s, s.checkSubmission), long)
	mount(rt, api.TrySubmission, few(s.turns.heavy, s.trySubmission), long)
	mount(rt, api.ListJobs, bounded(s.listJobs))
	mount(rt, api.GetJob, s.getJob)
	mount(rt, api.ArchiveJob, s.archiveJob)
	mount(rt, api.OrderOfJobs, few(s.turns.heavy, s.jobOrder))
	mount(rt, api.OrderOfHosts, few(s.turns.heavy, s.hostOrder))
	mount(rt, api.Modify, s.modify)
	mount(rt, api.RemoveJob, s.removeJob)
	mount(rt, api.OrderJobs, s.orderJobs)
	mount(rt, api.OrderJob, s.order, body(maxSmallBody+facts.MaxRange))
	takeUnlimited(rt.api.OpenAPI(), "SubmitRequest", "ModifyRequest")
	mount(rt, api.ListItems, s.listItems)
	mount(rt, api.Attempts, s.listAttempts)
	mount(rt, api.History, s.history)
	mount(rt, api.Explain, s.explain)
	mountStream(rt, api.ItemLog, s.itemLog, "text/plain")
	mountStream(rt, api.ItemPicture, s.itemPicture, "image/jpeg")
	mountHosts(rt, s)
	mount(rt, api.ReleaseBrake, s.releaseBrake)
	mount(rt, api.SupervisorConfiguration, s.supervisorConfiguration)
	mount(rt, api.Reread, s.reread)
	mount(rt, api.TestMail, led(s, s.testMail))
	mount(rt, api.GetSnapshot, few(s.turns.heavy, s.snapshot))
	mount(rt, api.WhatIf, few(s.turns.heavy, s.whatIf))
	mountStream(rt, api.Events, s.events, "text/event-stream")
	mount(rt, api.PingFarm, s.ping)
	mount(rt, api.CreateToken, s.createToken, created)
	mount(rt, api.ListTokens, s.listTokens)
	mount(rt, api.RotateToken, s.rotateToken, created)
	mount(rt, api.RevokeToken, bounded(s.revokeToken))
	mount(rt, api.ListPeople, s.listPeople)
	mount(rt, api.AddPerson, bounded(s.addPerson), created)
	mount(rt, api.GetPerson, s.getPerson)
	mount(rt, api.ChangePerson, bounded(s.changePerson))
	mount(rt, api.RemovePerson, bounded(s.removePerson))
	mount(rt, api.Invite, s.invite, created)
	mount(rt, api.Login, s.login, created)
	mount(rt, api.BeginSSO, s.beginSSO, body(maxOpenBody))
	mount(rt, api.FinishSSO, s.finishSSO, body(maxOpenBody))
	mount(rt, api.OwnTokens, s.ownTokens)
	mount(rt, api.RevokeOwn, bounded(s.revokeOwn))
	mount(rt, api.AuditLog, few(s.turns.heavy, s.auditLog))
	mount(rt, api.Enrol, bounded(s.enrol), unchecked)
	mount(rt, api.SyncWorker, s.syncWorker, long, unchecked)
	// The leader's folder of logs is the one that is read from.
	mount(rt, api.AppendLog, led(s, s.appendLog), body(maxChunkBody), unchecked)
	mount(rt, api.AppendPicture, led(s, s.appendPicture), body(maxPicture), unchecked)
	mount(rt, api.ShipEnds, led(s, s.shipEnds), body(maxChunkBody), unchecked)
	mountStream(rt, api.ReadEnds, s.readEnds, "application/x-ndjson")
	mountShares(rt, s)
	mount(rt, api.GetStats, few(s.turns.heavy, s.stats))
	mountProfiles(rt, s)
	if err := mountPage(rt); err != nil {
		return nil, err
	}
	mountStream(rt, api.Health, s.health, "text/plain")
	mountStream(rt, api.Metrics, handled(s.metrics.Handler()), "text/plain")
	return rt, nil
}

func mountHosts(rt *routes, s *server) {
	mount(rt, api.ListHosts, s.listHosts)
	mount(rt, api.GetHost, s.getHost)
	mount(rt, api.HostConfiguration, s.hostConfiguration)
	mount(rt, api.SlotMap, s.slotMap)
	mount(rt, api.LockHost, s.lockHost)
	mount(rt, api.UnlockHost, s.unlockHost)
	mount(rt, api.ApproveHost, bounded(s.approveHost))
	mount(rt, api.RestartHost, led(s, s.restartHost))
	mount(rt, api.ConfirmDead, s.confirmDead)
	mount(rt, api.RemoveHost, led(s, s.removeHost))
}

// mountShares mounts what belongs to fair sharing.
func mountShares(rt *routes, s *server) {
	long := body(maxBody)
	mount(rt, api.ListShares, s.listShares)
	mount(rt, api.ExplainShare, s.explainShare)
	mount(rt, api.ShareSet, s.shareSettings)
	mount(rt, api.SetShare, s.setShare)
	mount(rt, api.ListAccounts, s.listAccounts)
	mount(rt, api.PastAccounts, few(s.turns.heavy, s.pastAccounts))
	mount(rt, api.AddAccount, s.addAccount, long)
	mount(rt, api.AddAccounts, s.addAccounts)
	mount(rt, api.DropAccount, s.dropAccount, long)
	mount(rt, api.ListBudgets, s.listBudgets)
	mount(rt, api.SetBudget, s.setBudget)
	mount(rt, api.Publications, s.listPublications)
	mount(rt, api.Report, s.reportPublication)
	mount(rt, api.Decide, s.decidePublication)
	mount(rt, api.AddCredits, s.addCredits, long)
	mount(rt, api.ListCredit, s.listCredit)
	mount(rt, api.AddCredit, s.addCredit)
}

// mountProfiles mounts what belongs to what was learned of jobs and what is known of resources.
func mountProfiles(rt *routes, s *server) {
	mount(rt, api.ListProfiles, s.listProfiles)
	mount(rt, api.SetProfile, s.setProfile)
	mount(rt, api.ForgetProfile, s.forgetProfile)
	mount(rt, api.ListResources, s.listResources)
	mount(rt, api.ReportResource, s.reportResource)
}

func humaConfig() huma.Config {
	cfg := huma.DefaultConfig("qb", "1")
	cfg.Info.Description = "The farm's endpoints. Every change is durable before it is answered; refusals are RFC 9457 problems of type urn:qb:error:KIND."
	cfg.Servers = []*huma.Server{{URL: "http://127.0.0.1:50001", Description: "qb farm, as it listens by default"}}
	cfg.OpenAPIPath, cfg.DocsPath, cfg.SchemasPath = "", "", ""
	cfg.CreateHooks = nil // no $schema members
	cfg.Formats = maps.Clone(cfg.Formats)
	for kind, format := range cfg.Formats {
		format.Unmarshal = gate.JSONInUTF8(gate.OneMeaning(format.Unmarshal))
		cfg.Formats[kind] = format
	}
	cfg.Transformers = append(cfg.Transformers, func(ctx huma.Context, _ string, body any) (any, error) {
		if fields := ctx.Query("fields"); fields != "" {
			return rowlist.Only(fields, body)
		}
		return body, nil
	})
	cfg.RejectUnknownQueryParameters = true
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "qb_ROLE_ID_SECRET; local users need none on the unix socket."},
	}
	return cfg
}

// takeUnlimited lets max_cpus be a number or "*" in the schemas of these bodies; package api reads both.
func takeUnlimited(document *huma.OpenAPI, bodies ...string) {
	for _, name := range bodies {
		properties := document.Components.Schemas.Map()[name].Properties
		either := &huma.Schema{
			Description: properties["max_cpus"].Description,
			OneOf:       []*huma.Schema{{Type: huma.TypeInteger, Format: "int64"}, {Type: huma.TypeString, Enum: []any{api.Unlimited}}},
		}
		either.PrecomputeMessages()
		properties["max_cpus"] = either
	}
}

// useOwnProblems is once for the process: huma keeps these in variables of its packages. max_cpus alone has several forms.
var useOwnProblems = sync.OnceFunc(func() {
	huma.NewError, huma.DefaultArrayNullable = newHumaError, false
	validation.MsgExpectedMatchExactlyOneSchema = fmt.Sprintf("expected a whole number or %q", api.Unlimited)
})

// newHumaError gives huma's own refusals the form of all others.
func newHumaError(status int, message string, errs ...error) huma.StatusError {
	if errors.Is(errors.Join(errs...), gate.ErrOtherBody) {
		return problem.Of(gate.ErrOtherBody)
	}
	p := problem.New(api.KindOfStatus(status), status, message)
	for _, err := range errs {
		if d, ok := err.(huma.ErrorDetailer); ok {
			detail := d.ErrorDetail()
			p.Errors = append(p.Errors, problem.PlaceOf(detail.Message, detail.Location, detail.Value))
		} else if err != nil {
			p.Errors = append(p.Errors, problem.ProblemPlace{Message: err.Error()})
		}
	}
	if len(p.Errors) > 0 {
		p.Detail = strings.TrimSpace(p.Errors[0].Location + " " + p.Errors[0].Message)
	}
	return p
}

type option func(*huma.Operation)

func body(most int64) option {
	return func(o *huma.Operation) { o.MaxBodyBytes = most }
}

// created answers 201.
func created(o *huma.Operation) { o.DefaultStatus = http.StatusCreated }

// unchecked leaves the body's check to the handler: these are the endpoints that every worker calls all
// the time.
func unchecked(o *huma.Operation) { o.SkipValidateBody = true }

func (rt *routes) operation(e api.Endpoint, opts []option) huma.Operation {
	op := huma.Operation{
		OperationID: e.ID, Method: e.Method, Path: e.Path, Summary: e.Summary,
		Description: needs(e), Tags: []string{tagOf(e)},
		MaxBodyBytes: maxSmallBody, BodyReadTimeout: bodyTimeout,
		Extensions: map[string]any{"x-qb-role": string(e.Role)},
	}
	op.Security = []map[string][]string{{}}
	if e.Role != api.Anyone {
		op.Security = []map[string][]string{{"token": {}}}
	}
	op.Responses = map[string]*huma.Response{"4XX": rt.refusal("The request is refused."), "5XX": rt.refusal("The farm cannot answer now.")}
	for _, opt := range opts {
		opt(&op)
	}
	op.Middlewares = huma.Middlewares{rt.admit(e)}
	rt.mounted = append(rt.mounted, e.ID)
	return op
}

// needs says what a credential needs for an endpoint.
func needs(e api.Endpoint) string {
	text := "Least role: " + string(e.Role) + "."
	if right := e.Right(""); right != 0 {
		text += " Right: " + right.String() + "."
	}
	return text
}

// refusal is how the document shows a problem.
func (rt *routes) refusal(text string) *huma.Response {
	schema := rt.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[problem.Problem](), true, "Problem")
	return &huma.Response{Description: text, Content: map[string]*huma.MediaType{"application/problem+json": {Schema: schema}}}
}

func tagOf(e api.Endpoint) string {
	switch {
	case strings.HasPrefix(e.Path, api.ListPeople.Path) || strings.HasPrefix(e.Path, api.Login.Path):
		return "users"
	case e.Role == api.Worker:
		return "workers"
	case slices.Contains([]string{api.ListHosts.ID, api.LockHost.ID, api.UnlockHost.ID, api.ConfirmDead.ID, api.ApproveHost.ID, api.RestartHost.ID, api.RemoveHost.ID}, e.ID):
		return "hosts"
	case e.Role == api.Admin && e.ID != api.Reread.ID && e.ID != api.TestMail.ID:
		return "tokens"
	case e.ID == api.OrderJobs.ID, e.ID == api.CheckSubmission.ID, e.ID == api.TrySubmission.ID, strings.HasPrefix(e.Path, api.ListJobs.Path):
		return "jobs"
	}
	return "farm"
}

// admit asks for the right by role before anything of the request is read.
func (rt *routes) admit(e api.Endpoint) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		_, w := humachi.Unwrap(ctx)
		if seen, ok := w.(*gate.Seen); ok {
			seen.Endpoint = e.ID
		}
		p := gate.PrincipalOf(ctx.Context())
		if p.Role == "" {
			p.Role = api.Anyone
		}
		err := gate.Authorise(p, e, ctx.Param("action"), nil)
		if err == nil && p.HostKey != "" {
			err = rt.server.pace.Take(p.HostKey, time.Now())
		}
		if err != nil {
			refusal := problem.Of(err)
			rt.server.refused(ctx.Context(), e, refusal)
			problem.Write(w, refusal)
			return
		}
		if changes(e) {
			audit.Of(ctx.Context()).Begin(factsOfRequest(ctx.Context(), e))
		}
		next(ctx)
	}
}

// led wraps a handler that only the leader serves: other supervisors refuse.
func led[I, O any](s *server, handler func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	return func(ctx context.Context, in *I) (*O, error) {
		if _, err := s.leading(); err != nil {
			return nil, err
		}
		return handler(ctx, in)
	}
}

// bounded gives a handler the time of one read, for all that it reads and writes.
func bounded[I, O any](handler func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	return func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, readFor)
		defer cancel()
		return handler(ctx, in)
	}
}

// mount registers a handler that answers with JSON.
func mount[I, O any](rt *routes, e api.Endpoint, handler func(context.Context, *I) (*O, error), opts ...option) {
	huma.Register(rt.api, rt.operation(e, opts), func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		if err != nil {
			return nil, rt.server.problemFor(ctx, e, err)
		}
		return out, nil
	})
}

type streamOutput struct{ Body func(huma.Context) }

// mountStream registers a handler that writes its answer itself. The request's context ends with the process, too.
func mountStream[I any](rt *routes, e api.Endpoint, handler func(context.Context, *I) (answer, error), contentType string) {
	op := rt.operation(e, nil)
	op.Responses["200"] = &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{contentType: {Schema: &huma.Schema{Type: huma.TypeString}}}}
	huma.Register(rt.api, op, func(ctx context.Context, in *I) (*streamOutput, error) {
		write, err := handler(ctx, in)
		if err != nil {
			return nil, rt.server.problemFor(ctx, e, err)
		}
		return &streamOutput{func(c huma.Context) {
			r, w := humachi.Unwrap(c)
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(rt.server.stopping, cancel)()
			r = r.WithContext(ctx)
			if r.Method == http.MethodHead {
				web.Head(w, r, http.HandlerFunc(write))
				return
			}
			write(w, r)
		}}, nil
	})
}

// handled turns a plain handler into one for mountStream.
func handled(h http.Handler) func(context.Context, *nothing) (answer, error) {
	return func(context.Context, *nothing) (answer, error) { return h.ServeHTTP, nil }
}

// document is the OpenAPI text of what is mounted.
func (rt *routes) document() ([]byte, error) { return rt.api.OpenAPI().YAML() }

// compressed compresses lists and documents for those who take that. The answer of a change may have a secret, whose length
// would tell of it, and is sent as it is.
func compressed(handler http.Handler) http.Handler {
	packing := middleware.Compress(5, "application/json")(handler)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			packing.ServeHTTP(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// connContext notes by which connection, and from which account, a request comes.
func connContext(ctx context.Context, c net.Conn) context.Context {
	return listeners.WithConn(credentials.WithPeer(ctx, c), c)
}

// httpServer has a limit on everything but the length of an answer: syncs are held and streams go on.
func httpServer(handler http.Handler, base context.Context) *http.Server {
	return &http.Server{
		Handler: compressed(handler), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ConnContext: connContext, ConnState: listeners.Note, BaseContext: baseOf(base),
		DisableGeneralOptionsHandler: true, // OPTIONS * needs a credential, too
	}
}
