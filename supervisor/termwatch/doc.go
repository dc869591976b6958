// Package termwatch compares what workers report of terms with the own one. It finds out that the rows were put back, and
// that hosts obey another database; after a restore it says when everybody has been listened to.
//
//	the rows were put back ──> listen to all hosts ──> settled: numbers above all that they know
//	a host obeys a higher term of this database ──> the term ends, the next one is above it
//	a host obeys a copy ──> refused while that lives; superseded if it was told to replace this one
//
// It must never read a clock, and never believe a term that is not signed with the farm's key.
//
// Read first: termwatch.go (Hear, Await, Why).
package termwatch
