// Package live is what the page follows: the jobs and hosts of the last view, the farm in numbers, and the states of
// the items of jobs that somebody looks at. It sends states, not a log: what changes within a moment comes together, is
// encoded and compressed once for all readers, and a reader who was slow gets the whole instead of what was missed.
//
//	view ──▶ tables of rows, once a second ──▶ what differs ─┐
//	writes of a commit ──▶ letters of items, 4 times a second ┴──▶ Board ──▶ every reader at its own place
//
// Nothing is sent before it is durable: views and writes come with their commit. It must never wait for a reader, nor
// do anything while there is none.
//
// Read: board.go (who reads what), table.go (rows and what differs), cells.go (their encoding), items.go (letters),
// message.go (compression).
package live
