// Package eventstream holds the latest events of the farm for those who follow it: a ring that every reader reads at a
// place of its own. Events come of the rows that a commit has made durable (OfWrites) and of what differs between two
// views (OfViews).
//
// It must never wait for a reader, nor grow with their number: a reader that is overtaken is told to read the lists anew.
package eventstream
