// Package quota counts what each owner's unfinished jobs are and take, and refuses jobs that would take an owner, or
// the farm, beyond a limit.
//
// It is pure and knows no jobs, only their sizes: a caller that adds a size removes the same again.
//
// Read quota.go.
package quota
