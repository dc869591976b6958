package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/credentials"
	"qb/supervisor/access/gate"
	"qb/supervisor/access/listeners"
	"qb/supervisor/lead/problem"
	"qb/supervisor/page/web"
	"qb/supervisor/wire/lists"
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
		problem.Write(w, problem.New(api.KindNotFound, http.StatusNotFound, "there is nothing at this path; see "+
			api.Document.Path))
	})
	router.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, problem.New(api.KindInvalid, http.StatusMethodNotAllowed, "this path does not know the method "+
			r.Method+"; see "+api.Document.Path))
	})
	_, err := mountAll(s, router)
	return router, err
}

func mountAll(s *server, router chi.Router) (*routes, error) {
	useOwnProblems()
	rt := &routes{server: s, api: humachi.New(router, humaConfig())}
	for _, register := range []func(*routes){
		s.jobs.register, s.items.register, s.hosts.register, s.people.register, s.shares.register, s.workers.register,
		s.admin.register,
	} {
		register(rt)
	}
	if err := s.page.register(rt); err != nil {
		return nil, err
	}
	mountStream(rt, api.Health, s.health, "text/plain")
	mountStream(rt, api.Metrics, handled(s.metrics.Handler()), "text/plain")
	return rt, nil
}

func humaConfig() huma.Config {
	cfg := huma.DefaultConfig("qb", "1")
	cfg.Info.Description = "The farm's endpoints. Every change is durable before it is answered; refusals are RFC 9457 problems of type urn:qb:error:KIND."
	cfg.Servers = []*huma.Server{{URL: "http://127.0.0.1:50001", Description: "qb farm, as it listens by default"}}
	cfg.OpenAPIPath = ""
	cfg.DocsPath = ""
	cfg.SchemasPath = ""
	cfg.CreateHooks = nil // no $schema members
	cfg.Formats = maps.Clone(cfg.Formats)
	for kind, format := range cfg.Formats {
		format.Unmarshal = gate.JSONInUTF8(gate.OneMeaning(gate.FastSyncs(format.Unmarshal)))
		cfg.Formats[kind] = format
	}
	cfg.Transformers = append(cfg.Transformers, func(ctx huma.Context, _ string, body any) (any, error) {
		if fields := ctx.Query("fields"); fields != "" {
			return lists.Only(fields, body)
		}
		return body, nil
	})
	cfg.RejectUnknownQueryParameters = true
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer",
			Description: "qb_ROLE_ID_SECRET; local users need none on the unix socket."},
	}
	return cfg
}

// takeUnlimited lets max_cpus be a number or "*" in the schemas of these bodies; package api reads both.
func takeUnlimited(document *huma.OpenAPI, bodies ...string) {
	for _, name := range bodies {
		properties := document.Components.Schemas.Map()[name].Properties
		either := &huma.Schema{
			Description: properties["max_cpus"].Description,
			OneOf: []*huma.Schema{{Type: huma.TypeInteger, Format: "int64"},
				{Type: huma.TypeString, Enum: []any{api.Unlimited}}},
		}
		either.PrecomputeMessages()
		properties["max_cpus"] = either
	}
}

// useOwnProblems is once for the process: huma keeps these in variables of its packages. max_cpus alone has several
// forms.
var useOwnProblems = sync.OnceFunc(func() {
	huma.NewError, huma.DefaultArrayNullable = newHumaError, false
	huma.ValidateStrictCasing = true // beside priority, PRIORITY would be a second value of it
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
	op.Responses = map[string]*huma.Response{"4XX": rt.refusal("The request is refused."),
		"5XX": rt.refusal("The farm cannot answer now.")}
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
	return &huma.Response{Description: text,
		Content: map[string]*huma.MediaType{"application/problem+json": {Schema: schema}}}
}

func tagOf(e api.Endpoint) string {
	switch {
	case strings.HasPrefix(e.Path, api.ListPeople.Path) || strings.HasPrefix(e.Path, api.Login.Path):
		return "users"
	case e.Role == api.Worker:
		return "workers"
	case strings.HasPrefix(e.Path, api.ListHosts.Path):
		return "hosts"
	case e.Role == api.Admin && e.ID != api.Reread.ID && e.ID != api.TestMail.ID:
		return "tokens"
	case e.ID == api.OrderJobs.ID, e.ID == api.SubmitOpenJD.ID, e.ID == api.CheckOpenJD.ID, e.ID == api.CheckSubmission.ID,
		e.ID == api.TrySubmission.ID,
		strings.HasPrefix(e.Path, api.ListJobs.Path):
		return "jobs"
	}
	return "farm"
}

// admit asks for the right by role before anything of the request is read.
func (rt *routes) admit(e api.Endpoint) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		_, w := humachi.Unwrap(ctx)
		if seen, ok := w.(*gate.ResponseRecorder); ok {
			seen.Endpoint = e.ID
		}
		p := gate.PrincipalOf(ctx.Context())
		if p.Role == "" {
			p.Role = api.Anyone
		}
		err := gate.Authorise(p, e, ctx.Param("action"), nil)
		if err == nil && p.HostKey != "" {
			err = rt.server.workers.pace.Take(p.HostKey, time.Now())
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
func led[I, O any](s *backend, handler func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
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
func mountStream[I any](rt *routes, e api.Endpoint, handler func(context.Context, *I) (answer, error),
	contentType string) {
	op := rt.operation(e, nil)
	op.Responses["200"] = &huma.Response{Description: "OK",
		Content: map[string]*huma.MediaType{contentType: {Schema: &huma.Schema{Type: huma.TypeString}}}}
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

// compressed compresses lists and documents for clients that accept it. Answers to changes may contain a secret, which
// the compressed length could reveal, and are sent uncompressed.
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
