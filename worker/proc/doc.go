// Package proc reads the kernel's process table and acts on trees of processes: it finds the descendants of a process
// and what bears an item's mark, signals them, and freezes them.
//
// A process is named by its number and its start, so that a later process with the same number is never taken for it.
// The package must never signal a process that is not of the tree or the mark that it was given.
package proc
