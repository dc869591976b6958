// Package message has what goes into the farm and what comes out of it: events and their replies, the view for listings,
// and the policy.
//
// It is data: it decides nothing, and what it holds is not changed by whoever gets it. Events reach Farm.Step, replies
// leave with the commit that they depend on.
//
// Read event.go, then reply.go.
package message
