// Package sim holds the simulator: the real farm and the real agent core in a world whose network, clocks, disks and
// database fail as a seed decides. It contains tests only.
//
// A world runs in simulated time without I/O, so a farm's day takes a moment and a seed always tells the same story. A
// failure prints its seed; `make sim SEED=…` repeats it and tells the whole story.
//
//	clients ──▶ link ──▶ supervisor (farm, store in memory) ◀──▶ link ◀──▶ agent (worker/core) ──▶ shims
//	                          ▲                                                                    │
//	                          └──────────── rules: rows against the truth of the shims ◀───────────┘
//
// In one world in sixteen only supervisors and their database fail, and people give all orders that there are
// (previews_test.go): there the model knows for sure where a job may run, and holds what the orders promise against it.
//
// testdata/bugs is the bug bank: bugs as patches, each of which the simulator must find (tools/bugs).
// Package sim/crash does the same with real processes.
//
// The simulator must never correct what the farm does: a rule that is broken fails the seed.
//
// Read first: world_test.go (the events), faults_test.go (what goes wrong), rules_test.go (what must hold).
package sim
