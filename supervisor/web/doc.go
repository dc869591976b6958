// Package web holds the pages that the supervisor serves. A page is whole as it leaves the server: no
// script, nothing fetched from elsewhere, user text only through html/template.
//
//	api.Endpoints ──▶ docs.html ──▶ GET /docs, and HEAD of anything
//
// It must never hold farm data of its own, nor decide who may see a page: that is the supervisor's gate.
//
// Read: web.go (the handler), docs.html (the page).
package web
