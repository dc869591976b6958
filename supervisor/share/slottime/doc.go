// Package slottime shares the wall time of slots among jobs that compete for them: which of them has a slot next when
// an item on it has ended. It divides among users first, if the site wants it, then among the jobs of each.
//
// It is pure, and knows neither hosts nor instances: the farm says who may take the slot, and what each has had.
//
// Read account.go, then next.go.
package slottime
