// Package whatif has qb whatif, which asks what a change of a job or the lock of hosts would do, and what qbsub -whatif prints.
// Nothing of the farm is changed.
//
// Read whatif.go; text.go, which prints the answer.
package whatif
