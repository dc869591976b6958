// Package service has the commands that are the farm: qb farm, its supervisor and its workers, and those that work on what they
// keep: backup, restore and the farm's CA.
//
// It must never need a farm that runs already; commands that ask one are elsewhere. Read service.go first, then farm.go.
package service
