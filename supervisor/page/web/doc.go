// Package web holds the pages that the supervisor serves.
//
//	api.Endpoints ──▶ docs.html ──▶ GET /docs, and HEAD of anything
//	shell.html, static ──▶ GET / and /assets/HASH/FILE
//
// The page of the endpoints is whole as it leaves the server: no script, user text only through html/template. The farm
// as a page is a document without any data, and JavaScript modules that ask the API like every other client. There is
// no build step: static has what the browser reads, and static/vendor the modules of others byte for byte, as VENDOR
// there lists them (make vendor).
//
// It must never hold farm data of its own, nor decide who may see a page: that is the supervisor's gate.
//
// Read: page.go (the farm as a page), web.go (the page of the endpoints), then static/app.js.
package web
