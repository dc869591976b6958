// Package eventstream holds the latest events of the farm for the readers of its stream: a ring in which each reader
// has its own position. Events are made from the rows that a commit has made durable (OfWrites) and from the
// differences between two views (OfViews).
//
// It must never wait for a reader, nor grow with their number: a reader that is overtaken must read the lists again.
package eventstream
