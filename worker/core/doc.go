// Package core decides what a host should do: pure steps from (state, event, now) to orders.
//
// It compares what the supervisor wants with what runs on the host, refuses starts for which no memory is free, and
// remembers results until a current term has acknowledged them. The agent around it (package worker) reads clocks,
// sockets and files, and does what the core orders.
//
//	events ──Step──▶ Core: desired ↔ actual (diff.go) ──▶ orders: start, hand, stop, close, send sync, forget
//
// It must never read a clock, open a file, or draw chance other than from the seed that it is given; order a second
// start of an attempt; or forget a record that no answer of a current term has let go.
//
// Read first: core.go (events and orders), diff.go (desired against actual), report.go (what a sync says).
package core
