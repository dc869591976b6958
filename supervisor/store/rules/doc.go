// Package rules has what every store does alike with what it is given, so that Postgres and its double in memory keep
// the same rows and give the same answers.
//
//	a write ──> normal form ──> row ──> counts, marks, sums ──> an answer
//
// Three things happen to facts on their way in: NUL and broken UTF-8 in text become U+FFFD (a worker's words must not
// be able to end a term), times are cut to microseconds, and an end before its start, which a clock that was set back
// can yield, is set to the start.
//
// It must never read or write a row itself.
//
// Read first: normal.go (how values are stored), numbers.go (what a list says of a job), overlay.go (what compaction
// makes of items).
package rules
