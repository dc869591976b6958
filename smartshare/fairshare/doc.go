// Package fairshare holds the arithmetic of fair sharing over time: decayed usage, the tree of shares, an owner's
// fairshare factor, and the points of the multifactor order.
//
// It takes numbers and returns numbers. It holds no state and reads no clock: times are seconds that the caller passes.
//
//	usage ──Charge, Read (half-life)──▶ tree of shares ──Standings, FairTree──▶ factor ──▶ Weight, Points
//
// Read first: usage.go (decay and factors), sharetree.go (accounts and owners), multifactor.go (points).
package fairshare
