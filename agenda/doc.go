// Package agenda says what one job has to do and what it needs: it turns a range such as 1-100x5 or a list
// of labels into numbered items, keeps the state of each item in about a byte, and reads the two small
// languages of a submission, requirements (which hosts are suitable) and reservations (what an instance takes).
//
//	text ──Parse──▶ Agenda ──Item(n)──▶ name, start, end, step
//	                   │
//	                   └─ Len ─▶ Tally        the states of the items of one job:
//
//	   ┌───────────────── retry, preemption, loss ─────────────────┐
//	   ▼                                                           │
//	pending ──▶ running ──▶ complete │ failed │ killed ────────────┘
//	   ▲  │
//	   │  └────▶ killed, complete (by order, without ever running)
//	   └──────── blocked ◀──── pending (by order, or held by qb itself)
//
// The package has no side effects: no clock, no files, no goroutines, no locks. It never expands a
// range before it has counted it, and never decides where or when anything runs: that is supervisor/farm.
// A value made here does not change afterwards, except for a Tally, which has one owner.
//
// Numbers of a range may have any sign and at most 15 digits; leading zeros mean nothing. Sizes are bytes
// and their units powers of 1024; a size without a unit is in MiB, as in Qube.
//
// Read next: range.go (the syntax), agenda.go (items), requirement.go (which hosts are suitable).
package agenda
