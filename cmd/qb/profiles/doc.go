// Package profiles has the command about profiles: what was learned from jobs of one kind for the next, and how people correct it.
//
// It must never estimate anything: it shows what the supervisor reports.
//
// Read profile.go.
package profiles
