package serve

import (
	"flag"
	"html/template"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"

	"qb/api"
	"qb/supervisor/lead/metrics"
	"qb/supervisor/wire/settings"
)

var update = flag.Bool("update", false, "write api/openapi.yaml anew")

const documentFile = "../../api/openapi.yaml"

func newTestServer(t *testing.T) *server {
	t.Helper()
	cfg := settings.DefaultConfig()
	cfg.State = t.TempDir()
	s, err := newServer(cfg, newStore(t), slog.New(slog.DiscardHandler), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.logs.Close() })
	return s
}

// TestOpenAPI: the committed document is what is served.
func TestOpenAPI(t *testing.T) {
	rt, err := mountAll(newTestServer(t), chi.NewRouter())
	if err != nil {
		t.Fatal(err)
	}
	got, err := rt.document()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(documentFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what the routes say; go test ./supervisor -run TestOpenAPI -update writes it anew", documentFile)
	}
}

// fits wants an answer to be as the document says, and closes its body.
func fits(t *testing.T, e api.Endpoint, resp *http.Response) {
	t.Helper()
	body := text(t, resp)
	document := servedDocument()
	item := document.Paths[e.Path]
	operation := map[string]*huma.Operation{http.MethodGet: item.Get, http.MethodPost: item.Post,
		http.MethodPatch: item.Patch, http.MethodDelete: item.Delete}[e.Method]
	response := operation.Responses[strconv.Itoa(resp.StatusCode)]
	if response == nil {
		response = operation.Responses[strconv.Itoa(resp.StatusCode/100)+"XX"]
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if response == nil || response.Content[kind] == nil {
		t.Errorf("%s answers %d with %q, which the document lacks", e.ID, resp.StatusCode, kind)
		return
	}
	if !strings.HasSuffix(kind, "json") || response.Content[kind].Schema.Type == huma.TypeString {
		return
	}
	path, result := huma.NewPathBuffer(nil, 0), &huma.ValidateResult{}
	huma.Validate(document.Components.Schemas, response.Content[kind].Schema, path, huma.ModeReadFromServer,
		decode[any](t, body), result)
	for _, err := range result.Errors {
		t.Errorf("%s answers %d with what the document does not allow: %v\n%.300s", e.ID, resp.StatusCode, err, body)
	}
}

// servedDocument is made once: each answer of a walk over all endpoints is held against it.
var servedDocument = sync.OnceValue(func() *huma.OpenAPI {
	rt, err := mountAll(newServices(&backend{metrics: metrics.New(metrics.Sources{})}), chi.NewRouter())
	if err != nil {
		panic(err)
	}
	return rt.api.OpenAPI()
})

// TestMounted: exactly the table is mounted, nothing else, and each endpoint is documented under its id.
func TestMounted(t *testing.T) {
	router := chi.NewRouter()
	rt, err := mountAll(newTestServer(t), router)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, e := range api.Endpoints {
		want = append(want, e.Method+" "+e.Path)
		item := rt.api.OpenAPI().Paths[e.Path]
		if item == nil {
			t.Errorf("%s is not documented", e.Path)
			continue
		}
		var keyed bool
		for _, one := range []*huma.Operation{item.Get, item.Post, item.Patch, item.Delete} {
			keyed = keyed || one != nil && one.OperationID == e.ID &&
				slices.ContainsFunc(one.Parameters, func(p *huma.Param) bool { return p.Name == "Idempotency-Key" })
		}
		if keyed != e.Keyed() {
			t.Errorf("%s takes a key: %v; its clients believe %v", e.ID, keyed, e.Keyed())
		}
		op := map[string]string{}
		if item.Get != nil {
			op["GET"] = item.Get.OperationID
		}
		if item.Post != nil {
			op["POST"] = item.Post.OperationID
		}
		if item.Patch != nil {
			op["PATCH"] = item.Patch.OperationID
		}
		if item.Delete != nil {
			op["DELETE"] = item.Delete.OperationID
		}
		if op[e.Method] != e.ID {
			t.Errorf("%s %s is documented as %q, want %q", e.Method, e.Path, op[e.Method], e.ID)
		}
		if !slices.Contains(rt.mounted, e.ID) {
			t.Errorf("%s is not mounted", e.ID)
		}
	}
	err = chi.Walk(router, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		got = append(got, method+" "+route)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("mounted %v, want %v", got, want)
	}
}

// TestPages serves the document and the page to read, with a policy that lets no script in.
func TestDocumentPages(t *testing.T) {
	r := startRig(t)
	page := r.raw("GET", "/docs", "", "", nil)
	body := text(t, page)
	for _, e := range api.Endpoints {
		if !strings.Contains(body, e.Path) || !strings.Contains(body, template.HTMLEscapeString(e.Summary)) {
			t.Errorf("the page lacks %s", e.ID)
		}
	}
	if csp := page.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") ||
		strings.Contains(csp, "unsafe") || strings.Contains(body, "<script") {
		t.Errorf("policy %q", csp)
	}
	committed, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	if text(t, r.raw("GET", "/v1/openapi.yaml", "", "", nil)) != string(committed) {
		t.Error("another document is served than committed")
	}
	asJSON := r.raw("GET", "/v1/openapi.json", "", "", nil)
	if got := decode[struct{ OpenAPI string }](t, text(t, asJSON)); got.OpenAPI != "3.1.0" ||
		asJSON.Header.Get("Content-Type") != "application/json" {
		t.Errorf("as JSON the document is of version %q, type %s", got.OpenAPI, asJSON.Header.Get("Content-Type"))
	}
}
