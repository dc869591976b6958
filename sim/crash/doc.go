// Package crash holds the crash rig: two supervisors, a Postgres and workers as real processes, which a plan drawn from
// a seed kills, stops, reboots and cuts off from each other. It contains tests only.
//
// Each item of the rig writes down itself when it starts and ends. At the end these files are compared with the
// farm's rows: nothing may be lost, and nothing may have run twice at once.
//
//	plan (seed) ──▶ kill, stop, silence, fill ──▶ supervisors, agents, shims, Postgres
//	                                                    │                     │
//	                              rows, logs ◀──────────┘                     └──▶ items' own files
//	                                   └──────────────── compared ───────────────────┘
//
// The rig must never repair what it finds. The simulator in package sim breaks more, and faster, without processes.
//
// On machines (machines_test.go) supervisors and agents have a network each, which can be cut off as a whole.
//
// Read first: rig_test.go (what runs), plan_test.go (what goes wrong), crash_test.go (what must hold at the end).
package crash
