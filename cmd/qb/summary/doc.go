// Package summary has the command qb summary: cross tables of all unfinished jobs, such as the items of each user by state.
//
// It must never ask for anything but jobs: what it counts is in their listing.
//
// Read summary.go: the command; table.go adds up.
package summary
