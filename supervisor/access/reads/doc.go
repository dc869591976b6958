// Package reads bounds and repeats what the supervisor reads of the database, and logs each outage once. A Cache keeps
// answers that take long to read until the rows of their job change; calls that ask the same at a time share one
// reading, which ends when the last of them leaves.
//
// A Cache must never answer from what was read before a change whose commit the caller may have heard of.
//
// Read reader.go, outage.go, cache.go.
package reads
