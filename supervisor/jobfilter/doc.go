// Package jobfilter says which jobs a list or an order on many takes: what their rows must be, for the database, and what
// is asked of each, which only a look at the job can tell: its status in the live view, and the filter's expression.
//
//	api.JobFilter ─▶ Read ─▶ Filter: Query for the database, Passes for each job
//
// The package does no I/O.
package jobfilter
