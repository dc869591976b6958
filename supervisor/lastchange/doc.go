// Package lastchange says which jobs a commit changes, so that a list can show what changed since a moment.
//
//	writes of a commit ──Note──▶ facts.NoteChange, in the same commit
//
// A job is noted once a second at most, however many of its items start and end: the row has the second only.
//
// It must never leave a change out: a program that reads the list would never hear of it.
//
// Read first: lastchange.go.
package lastchange
