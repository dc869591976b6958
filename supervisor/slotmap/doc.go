// Package slotmap is what every slot of the farm does, as columns: 160,000 slots of 10,000 hosts are one answer of less than
// 250 KB, compressed.
//
// A host has runs: like instances of one job stand together, and a job is told as its distance from that of the run before.
// So small numbers repeat, which is what compresses well.
package slotmap
