// Command qb-bench is `qb bench`, which starts it from beside itself: it starts a farm of its own with simulated hosts,
// gives it work, and prints what the farm did and what that cost. It is for developers of qb; packages leave it out.
//
//	qb-bench ──▶ qb farm (a process of its own) ◀──syncs── qb-bench hosts (another: its cost is counted apart)
//
// It measures through the API and the process table only, and must never reach into the supervisor. It speaks to
// Postgres itself where a limit is measured, and where attempts are to be there already.
//
// Read first: main.go, bench.go (a run from start to end), host.go (what a simulated host does), standstill.go,
// overload.go; tables.go for what docs/benchmarks.md has.
package main
