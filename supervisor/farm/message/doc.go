// Package message has what goes into the farm and what comes out of it: events and their replies, the view for
// listings, and the policy.
//
// It is data: it decides nothing, and its receivers do not change what it holds. Events reach Farm.Step,
// replies leave with the commit that they depend on.
//
// Read event.go, then reply.go.
package message
