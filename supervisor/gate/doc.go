// Package gate finds out who sends a request, refuses what nobody may send, and says who may do what. What else stands before the
// router is here too: the bound of the time of a body, and what was answered, for the metrics.
//
// It must never let a request pass before it is known who asks, except those that api.NeedsToken leaves open. Read gate.go first;
// Authorise in rights.go is the one place for rights.
package gate
