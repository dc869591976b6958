// Package tree holds the processes of an instance: all that its items start, below its shim.
//
//	New ──▶ Names, on disk before the shim is forked ──▶ Tree ──▶ Enter at each fork: what starts is born inside
//	                                                      ├──▶ Freeze, Thaw, Terminate, Kill
//	                                                      ├──▶ Running, Use: what there is, and what it takes
//	                                                      └──▶ KillLeft: after the shim's death, until nothing is found
//
// It is what a worker asks of an operating system. On Linux a control group holds the tree (package cgroup) and the
// process table finds what is in none (package proc). The proof that a tree has ended is the kernel's: the shim, which
// all of it descends from, has no child left; without a shim, nothing is found by group, mark and session.
//
// Freeze must never say that a tree is frozen while one of its processes can run, and Kill must not wake what is
// frozen.
//
// Read tree.go, use.go.
package tree
