// Package logstore keeps the output of attempts in files, which workers ship in chunks.
//
//	chunk at an offset ──Append──> GROUP/JOB/ITEM.ATTEMPT.log ──Read──> Demux ──> stdout, stderr or both
//	                                        │
//	                                        └──Remove, RemoveSome──> gone
//
// It must never follow a path out of its folder, never take a chunk that leaves a gap, and never decide by itself that
// a log is old: package history does that.
//
// What programs of load-once jobs write between two items lies in GROUP/JOB/sessions.
//
// Read first: store.go (the files), demux.go (the frames in them), session.go, remove.go.
package logstore
