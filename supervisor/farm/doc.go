// Package farm is the whole farm as one state machine: events go in, writes and replies come out.
//
// It does no I/O, starts no goroutine, reads no clock (now is an argument) and decides nothing by map
// order. It must never say what is not durable: a reply leaves through Take together with the writes it
// depends on, and the shell sends it after they are committed. A broken invariant panics; the shell then
// ends the term and rebuilds the farm from the rows.
//
// An attempt's life, as its row tells it (the slot is held until the end is proven):
//
//	facts.StartAttempt ──> running ──facts.EndAttempt──> done | failed | killed | preempted | lost
//	                    │                        ▲
//	                    └─facts.StopAttempt─> stopping ┘   release follows proof, never the order
//
// An instance's life (it takes one item after another):
//
//	started by Plan ──> active <──> draining (takes no next item)
//	                      │  │
//	                      │  └─> no item left: closed
//	                      └────> stopping: no longer desired, closed when the worker proves the end
//
// The Farm starts, ends and moves instances. What can be done without that lies in its parts. Each owns its state, sees
// what is shared (jobs, hosts, policy, outbox; see shared.go), and of the others only the ones that it names:
//
//	admission     what may start on a host               retries       who waits, and avoids hosts, after failures
//	resources     what may be held of licences           lacks         what hosts lack that jobs need
//	usage         what owners use and are charged for    faults        what ends teach of hosts, items and jobs
//	cpuShare      slot time between equal jobs           syncs         who speaks for which host, and the answers
//	planning      snapshots, and plan to plan            suspensions   what is suspended, and resumes
//	dependencies  who waits for whose end                watch, brake  what runs too long; many silent hosts
//	shown         the last view, and what has changed since
//
// Read first: package model (what there is), farm.go (the surface), attempt.go (how an item starts and ends), plan.go
// (how instances move).
package farm
