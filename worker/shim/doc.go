// Package shim is the parent of one instance's processes: one process per instance, which outlives the agent.
//
// It takes orders from the agent by a socket in the instance's folder, starts the processes of one item after the
// other, measures them, writes their output to a file and each end to disk, and freezes and stops its tree by itself
// when the lease ends. One goroutine owns its state; everything else posts functions to it.
//
//	agent ── Order ──▶ shim ──▶ the item's processes, in the instance's control group
//	      ◀─ Report ──  │
//	                    └─▶ now (what runs), spool/ (ends), log/ (output): the agent reads them, also after its own death
//
// A program of a load-once job is kept: it asks at a socket for one item after another, and reports each. So what
// belongs to a process (program.go) and what belongs to an item (item.go) have lives of their own.
//
// It must never report an end before its record is on disk and its whole tree is gone (or, of a program that is kept,
// its item was reported as complete), wake a frozen tree, or give an item's process anything of the agent's.
//
// Read first: shim.go, item.go, program.go, session.go, protocol.go.
package shim
