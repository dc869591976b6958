// Package postgres keeps the farm's facts in Postgres. It has all of the SQL, and what works on a database without a
// farm: audit, backup and restore.
//
//	Store ──Lead──> term ──Load──> facts         one session, whose lock and epoch say who leads
//	  │              └─────Commit── batch ──> statements, in one transaction
//	  └── Reader, Upkeep ──> a pool of sessions
//
// An advisory lock on the writing session chooses who tries; what makes it safe is the epoch row, checked inside the
// transaction of each commit. Every write names the row that it expects, and a commit that finds another one writes
// nothing and ends the term. The session times out when its leader is silent for store.TrustFor, so that Postgres
// itself frees the lock of a leader that was stopped or cut off.
//
// It must never retry a commit, never write outside a term but to tokens, and never answer "not found" for an error.
//
// Read first: commit.go, lead.go, load.go. The tests run one suite on this store and on storetest.Memory
// (store_test.go), and random batches on both (equal_test.go).
package postgres
