// Package cgroup holds the processes of an instance in control groups, of version 2 or 1, so that all of them can be
// found, frozen, killed, limited and counted at once. Where a host allows no groups, the zero Group does nothing.
//
// Read first: group.go (a group and its processes), then counters.go (memory and number of processes).
package cgroup
