// Package bestfit chooses the hosts of a plan's starts by memory: with best fit, of all hosts that may run the job and have
// enough memory, the one that has the least. It takes no room that the plan has meant for another start, unless that one can
// have the host that this start gives up.
//
// It is pure: what a host can promise, and whether it takes an instance now, the farm says.
//
// Read table.go, then choose.go.
package bestfit
