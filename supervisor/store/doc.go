// Package store keeps the farm's facts in Postgres: it gains leadership, loads a farm and commits a batch; there
// is no fourth verb for the leader. Beside them a Reader answers lists and history, for every supervisor.
//
//	Lead ──> term with an epoch ──> Load ──> Commit, Commit, …  (Check every 2 s)
//	  ^                                          │
//	  └──── the term is over <── any error, lost session, higher epoch
//
// An advisory lock on the writing session chooses who tries; what makes it safe is the epoch row, checked inside
// the transaction of each commit. Every write names the row that it expects, and a commit that finds another one
// writes nothing and ends the term. The session times out when its leader is silent for TrustFor, so that Postgres
// itself frees the lock of a leader that was stopped or cut off.
//
// It must never retry a commit, never write outside a term but to tokens, and never answer "not found" for an error.
//
// Three things happen to facts on their way in, in both implementations: NUL and broken UTF-8 in text become
// U+FFFD (a worker's words must not be able to end a term), times are cut to microseconds, and an end before its
// start, which a clock that was set back can yield, is set to the start.
//
// Read first: store.go and reader.go (the interfaces), commit.go, lead.go. Memory is the double for simulations;
// store_test.go runs one suite on both.
package store
