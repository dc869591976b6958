// Package packing divides slots among jobs whose instances have different shapes: it packs them into bins.
//
// It is nearly exact, with bounded effort; jobs of one shape are divided exactly by package smartshare. It takes
// numbers and returns numbers, reads no clock, and does not depend on the order of a map.
//
//	loads, bins ──Pack──▶ primaries ▶ secondaries, lowest level first ▶ improve ▶ keep what need not stop,
//	                      start beside free room
//
// Read first: pack.go (the order of steps), improve.go (moves that raise a level), cancel.go (who need not
// stop, and starts that need not wait).
package packing
