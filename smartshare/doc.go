// Package smartshare is everything about who gets how much: the dispatch order, the exact division of
// surplus slots, who gives way, the CPU-time share, memory estimates. Package fairshare below it has usage and shares.
//
// It takes numbers and returns numbers. It has never heard of a host or an item, holds no state between
// calls, knows no clock and no chance: the same numbers always give the same answer, and permuting the
// input changes nothing but the places in the answer. A job is a Claim, the slots that the same jobs may
// use are a class, a running secondary is a worth: what keeping it is good for.
//
//	keys ──Order──▶ dispatch order ──Field.Primaries──▶ primaries
//	                                        │
//	                          Field.Divide: levels (max-min) ▶ blocks ▶ cheapest stops
//	                                        │
//	                                        ▼
//	                       targets, what each class keeps, what starts where
//
// Unit shapes (every instance takes the same) are divided exactly: Divide. Other shapes are packed
// nearly exactly by package packing. It must never look at a clock, at the world, or at the order of a map.
//
// Read first: order.go, divide.go, block.go.
package smartshare
