// Package summary has the commands that add up: qb summary, cross tables of all unfinished jobs such as the items of each user
// by state, and qb stats, what ended attempts used.
//
// It must never count what the supervisor has counted already.
//
// Read summary.go and table.go, which adds up; stats.go.
package summary
