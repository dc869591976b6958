// Package supervisor runs a farm: it leads a term, feeds the farm's state machine, makes its decisions
// durable and serves the endpoints of package api.
//
//	           lead          load, rebuild           any doubt about a commit, a panic, a lost proof
//	waiting ──────────▶ loading ──────────▶ leading ──────────────────────────────┐
//	   ▲                   │                   │ Step Plan Take → commit → say    │
//	   └───── back-off ────┴───────────────────┴──────────────────────────────────┘
//
// One goroutine owns the farm (loop.go); a second one owns the database session and has at most one
// commit in flight (term.go). An answer leaves only after the rows it depends on are durable. Requests
// that wait when a term ends are refused as unavailable; none is left without an answer.
//
// It must never say what is not committed, retry a commit whose outcome is unknown, answer a worker's
// sync without a recent proof that the term stands, or serve a route that is not in api.Endpoints.
//
// Read first: loop.go (the heart), term.go (how a term begins and ends), routes.go (what is served).
package supervisor
