// Package gate finds out who sends a request, refuses what nobody may send, and says who may do what.
//
// It must never let a request pass before it is known who asks, except those that api.NeedsToken leaves open. Read gate.go first;
// Authorise in rights.go is the one place for rights.
package gate
