// Package items knows the items of one job: the state of each, how often it was tried, the marks that keep ranges of
// them from running, and what their attempts have taught about memory, time and hosts.
//
// It is pure, and knows no hosts or instances: it does not say where an item runs, only that it does. All of it follows
// from the rows of the job. Prepare puts it together from them outside of the farm's loop, as a million attempts take
// seconds; Start and End change it in the loop, in no time.
//
// Read items.go, then record.go.
package items
