// Package accounting keeps what users have used of the farm, which shares and credit they have, and what follows from
// that: their fairshare factors and the points of their jobs.
//
// It is pure: time is an argument, and nothing depends on map order. Usage grows by Charge alone, in the step that ends
// an attempt, so that the end and its charge are durable together. What runs is not in the accounts: the farm passes it
// to Report as Running.
//
// What an operator sets is in members.go (accounts), shares.go, budget.go and publication.go; all of it is changed by
// Make.
//
// Read accounting.go, then change.go and report.go.
package accounting
