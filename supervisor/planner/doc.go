// Package planner divides a farm: a Snapshot goes in, a Plan comes out.
//
// Balance is a pure function of the snapshot. It reads no clock, no chance and no map order, and does not know the live
// farm, so `qb plan` calls the same function on a file. Package smartshare does the exact division, package packing that
// of mixed shapes; the planner turns jobs, hosts and instances into their numbers and the answers back into starts,
// stops and promotions.
//
//	Snapshot ─▶ relabel ─▶ order ─▶ primaries ─▶ surplus ─▶ victims ─▶ placement ─▶ Plan
//
// It must never return a plan that Balance would change again, or stop what the policy protects.
//
// Read first: snapshot.go (what goes in and comes out), balance.go (the steps), units.go and pack.go (the two divisions).
package planner
