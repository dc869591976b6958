// Package pathmap writes paths of one site as those of another: /vol/proj/sh010 as /mnt/proj/sh010, P:\sh010 as
// /mnt/p/sh010.
//
//	New    pairs FROM=TO ──▶ Map, or the entry that is wrong: twice there, or in a circle
//	Word   a word of a command, a variable ──▶ the same, as a path to its end or a list of paths
//	Line   a line for a shell ──▶ the same with each path in it, whose end the quotes decide
//	Path   a path ──▶ the same
//
// The longest FROM wins, and only whole parts of a path match: /vol/pro is nothing of /vol/project. A text is mapped
// once; what a TO brings in is never looked at again. The package must never touch files: what is mapped need not
// exist.
package pathmap
