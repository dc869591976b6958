// Package agents knows the agents that report as hosts: which of them is the host now, since when it is silent, which
// replies it has not acknowledged, and who else claims the host's name or key.
//
// It is pure: time is an argument. It must never let two living agents be one host, as both would run its items.
//
// Read agent.go, then claims.go.
package agents
