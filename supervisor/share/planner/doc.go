// Package planner divides a farm: a Snapshot goes in, a Plan comes out.
//
// Balance is a pure function of the snapshot. It reads no clock, no chance and no map order, and does not know the live
// farm, so `qb plan` calls the same function on a file. Package smartshare does the exact division, package packing
// that of mixed shapes; the planner turns jobs, hosts and instances into their numbers and the answers back into
// starts, stops and promotions.
//
//	Snapshot ─▶ rank ─▶ relabel ─▶ divide or pack ─▶ victims ─▶ Balance: the division
//	                                                              │
//	  host of each start ─▶ how and when each stop ─▶ who gives way ─▶ which host is kept ─▶ Decide: the plan
//
// Decide also is a pure function of the snapshot. What a host can take at that moment is in Snapshot.Present, and the
// ledger (ledger.go) is what remains of it from step to step.
//
// Replanning. A plan looks at the farm as it is before anything of it is done, so it says itself (Plan.Follows, see
// following.go) whether another one is to follow at once:
//
//   - starts have taken room beside which other starts of the plan were settled, and these might find room elsewhere
//     now;
//   - instances end for good, and what was to start in their place has no item or no budget;
//   - the reservation was moved, so that others may start what it kept them from.
//
// The farm adds what no snapshot shows: a start that could not be made any more, seats of licences, and what a full
// commit had no room for. Each such plan has made something, so a few follow one event (4 at most in the random tests).
// The bound is MostFollowing: then the farm puts the next plan off for a second, or until something else happens. The
// metric qb_plans_put_off_total counts that, and explanations say so.
//
// Between plans an instance whose item has ended takes the next item of its job, unless a rule of itemend.go forbids
// it. The farm tries these rules on what is at that moment, and Closing on the snapshot, so a plan says which instances
// will close although it lets them stay.
//
// It must never return a plan that Balance would change again, or stop what the policy protects.
//
// Read first: snapshot.go (what goes in and comes out), balance.go (the steps), units.go and pack.go (the two
// divisions), placing.go (from the division to the plan).
package planner
