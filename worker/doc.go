// Package worker is the agent of one host: it compares what should run with what runs, starts and stops
// processes, and never forgets a result unasked.
//
// Three parts:
//
//	core   package core: pure steps (state, event, now) -> orders. Knows the supervisor's wish and the host's truth.
//	agent  the shell around it: HTTP, folders, sockets, shipping of logs. Does what the core orders.
//	shim   package shim: one process per instance, parent of the user's processes. Outlives the agent, writes
//	       each end to disk, and stops its tree by itself when the lease runs out.
//
// An instance as the core sees it:
//
//	desired, not here          handed            record durable, log shipped
//	       │                     ┌──────────────────────────────────┐
//	       v                     v                                  │
//	   starting ──────────> running <───thaw/freeze───> frozen      │
//	       │                     │                         │        │
//	       └──── not desired ────┴──> stopping <───────────┘        │
//	                                      └─────────> idle <────────┘
//	   unknown: its shim holds the lock but    idle, not desired: the shim is closed
//	   does not answer; only the lock's        idle, other attempt desired: handed over
//	   release and an empty tree end it
//
// What it must never do: start an attempt twice; say that something ended before its record is on disk
// and its whole tree is gone; forget a record that no answer of a current term has let go; let a tree
// run beyond its lease; show the agent's credentials to a user's process.
//
// Read core/core.go, core/diff.go, agent.go and shim/shim.go first.
package worker
