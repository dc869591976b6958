// Package smartshare is everything about who gets how much: the dispatch order, the exact division of
// surplus slots, who gives way, the CPU-time share, memory estimates. Package fairshare below it has usage and shares.
//
// It takes numbers and returns numbers, and knows neither hosts nor items, neither a clock nor chance. The same
// numbers always give the same answer, and permuting the input changes only the places in the answer. Nothing holds
// state between calls; a Scratch only lends memory. A job is a Claim, the slots that the same jobs may use are a class,
// and the worth of a running secondary is the value of keeping it.
//
//	keys ──Order──▶ dispatch order ──Field.Primaries──▶ primaries
//	                                        │
//	                          Field.Divide: levels (max-min) ▶ bottlenecks ▶ cheapest stops, fewest waits
//	                                        │
//	                                        ▼
//	                       targets, what each class keeps, what starts where
//
// Unit shapes (every instance takes the same) are divided exactly: Divide. Other shapes are packed
// nearly exactly by package packing. It must never depend on a clock, on input or output, or on the order of a map.
//
// Read first: order.go, divide.go, bottleneck.go.
package smartshare
