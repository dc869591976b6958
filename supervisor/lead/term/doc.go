// Package term leads the farm: term after term it gets the lead, loads the rows, rebuilds the farm, and turns its loop
// until something ends the term.
//
//	           lead          load, rebuild           any doubt about a commit, a panic, a lost proof
//	waiting ──────────▶ loading ──────────▶ leading ──────────────────────────────┐
//	   ▲                   │                   │ Step Plan Take → commit → deliver │
//	   └───── back-off ────┴───────────────────┴──────────────────────────────────┘
//
// One goroutine owns the farm (Loop); a second one, the committer, owns the database session and has at most one commit
// in flight. A reply leaves only after the rows it depends on are durable. Requests that wait when a term ends are
// refused as unavailable; none is left without an answer.
//
// It must never publish what is not committed, retry a commit whose outcome is unknown, or serve HTTP.
//
// Read first: loop.go (the heart), lead.go (how a term begins and ends, and the committer), waiters.go (who waits for a
// reply), once.go (a call repeated under its key); then readonly.go and putback.go (databases that are full or
// restored), picture.go (what listings show), clock.go (the time of a term).
package term
