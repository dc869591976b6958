// Package store says what the farm's store does, for those who use one: it gains leadership, loads a farm and commits a
// batch; there is no fourth verb for the leader. Beside them a Reader answers lists and history, for every supervisor, and
// Upkeep lets history age.
//
//	Lead ──> term with an epoch ──> Load ──> Commit, Commit, …  (Check every 2 s)
//	  ^                                          │
//	  └──── the term is over <── any error, lost session, higher epoch
//
// Package postgres is the store that farms use. Package storetest is its double in memory. Package rules has what both
// do alike, so that they keep and answer the same.
//
// A store must never retry a commit, never write outside a term but to tokens, and never answer "not found" for an error.
//
// Read first: store.go and reader.go (the interfaces), postgres/commit.go, postgres/lead.go.
package store
