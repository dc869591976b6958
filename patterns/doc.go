// Package patterns finds in the output of an item how far it is, whether it has failed, lines worth reading and paths of what it wrote,
// by a job's regular expressions.
//
//	Lines  pieces of streams ──▶ lines, each no longer than MaxLine
//	New    lists of expressions ──▶ Watch, or the one that is wrong
//	Look   a line ──▶ Progress: per cent, Failure: the first line that matched an expression for errors; Highlights, OutputPaths
//
// Expressions are RE2, so that a line is looked at in time that grows with its length alone. Their number and length are bounded, and
// of a line only the beginning is looked at. The package must never keep more of the output than one such beginning for each
// stream and what it has found, which is bounded.
package patterns
