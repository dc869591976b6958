// Package store defines the farm's store for its users: it gains leadership, loads a farm and commits a batch; the
// leader needs no fourth verb. In addition a Reader answers lists and history, on every supervisor, and Upkeep compacts
// and deletes old history.
//
//	Lead ──> term with an epoch ──> Load ──> Commit, Commit, …  (Check every 2 s)
//	  ^                                          │
//	  └──── the term is over <── any error, lost session, higher epoch
//
// Package postgres is the store that farms use. Package storetest is its double in memory. Package rules has what both
// share, so that they store and answer the same.
//
// A store must never retry a commit, never write outside a term except to tokens, and never answer "not found" for an
// error.
//
// Read first: store.go and reader.go (the interfaces), lastchange.go (which jobs a commit changes), postgres/commit.go,
// postgres/lead.go.
package store
