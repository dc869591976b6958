// Package api says once what can be asked of a farm and what is answered: the wire types, the table of
// endpoints with the role each one needs, the kinds of refusals, and a client that uses them.
//
//	Endpoints ──▶ supervisor/serve/routes.go serves exactly these ──▶ openapi.yaml, committed and compared
//	    │
//	    └───────▶ Client.Call(endpoint, params, in, out) ──▶ answer, or *Error with a Kind
//
// A field that was shipped keeps its name and its meaning; new ones may be added. The package knows no
// router, no database and no farm: workers and commands import it, and must stay small. It must never hold
// a decision, only the words for it.
//
// Read first: endpoints.go (what can be asked), types.go (the resources), sync.go (supervisor and workers).
package api
