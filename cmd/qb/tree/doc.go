// Package tree has qb tree, which draws a process group: each job below the first job of the group that it waits for.
//
// It must never ask for anything but the group's jobs: what a job waits for is in its dependency.
//
// Read draw.go.
package tree
