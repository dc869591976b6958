// Package gate authenticates requests, refuses those without the needed right, and answers what each principal may do.
// It also has the other middleware before the router: the time limit for bodies, and the recording of answers for the
// metrics.
//
// It must never let a request pass before it is authenticated, except to the endpoints that api.NeedsToken leaves open.
// Read gate.go first; Authorise in rights.go is the one place for rights.
package gate
