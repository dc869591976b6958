// Package history lets what is long over go: attempts of closed jobs become daily sums, later the jobs are removed, and
// so are logs that are old, whose job is gone, or that the disk has no room for.
//
//	closed job ──Compact──> daily sums ──Remove──> gone
//	     └───── logs: too old, no room, no job ──> gone
//
// It works beside the loop while a term is led, in small chunks with long pauses, and in the name of the term: a leader
// that was replaced moves nothing.
//
// It must never call anything old by a clock that differs from the database's, and never touch what the farm still
// holds.
//
// Read first: ager.go (what is done in which order), logs.go (which logs go).
package history
