// Package termwatch compares the terms that workers report with this supervisor's own. It detects that the rows were
// put back, and that hosts obey another database; after a restore it reports when all hosts have been listened to.
//
//	the rows were put back ──> listen to all hosts ──> settled: numbers above all that they know
//	a host obeys a higher term of this database ──> the term ends, the next one is above it
//	a host obeys a copy ──> refused while the copy is in use; superseded if the copy replaces this database
//
// It must never read a clock, and never believe a term that is not signed with the farm's key.
//
// Read first: termwatch.go (Hear, Await, Why).
package termwatch
