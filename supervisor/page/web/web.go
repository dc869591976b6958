package web

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"sync"

	"qb/api"
)

//go:embed docs.html
var docsText string

var docsPage = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("docs").Funcs(template.FuncMap{"statusText": http.StatusText}).Parse(docsText))
})

// Policy is the content security policy of the page of the endpoints.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Docs is the page of the endpoints, made once.
func Docs(version string, endpoints []api.Endpoint) (http.HandlerFunc, error) {
	var page bytes.Buffer
	err := docsPage().Execute(&page, struct {
		Version      string
		Document     string
		DocumentJSON string
		Endpoints    []api.Endpoint
		Kinds        []api.Kind
	}{version, api.Document.Path, api.DocumentJSON.Path, endpoints, kinds})
	if err != nil {
		return nil, fmt.Errorf("making the page of the endpoints: %w", err)
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", Policy)
		_, _ = w.Write(page.Bytes()) // the reader may be gone
	}, nil
}

// kinds are the kinds of errors, in the order in which the page lists them.
var kinds = []api.Kind{api.KindInvalid, api.KindNotFound, api.KindConflict, api.KindStale, api.KindLimit,
	api.KindUnauthorized, api.KindForbidden, api.KindUnavailable, api.KindInternal}
