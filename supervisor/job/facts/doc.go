// Package facts holds the words that the farm and its store share: the rows of the database, their ids and states,
// and the writes that change them.
//
// A fact is a plain value as its row holds it. The package derives numbers from single facts, nothing from several, and
// knows no farm, no clock and no database.
//
//	farm ──[]Write──▶ store ──▶ Postgres ──▶ Facts, JobRecord ──▶ farm.Rebuild
//
// Read first: facts.go (ids, states and rows), attributes.go (what a user can give a job), writes.go (every change of a
// row).
package facts
