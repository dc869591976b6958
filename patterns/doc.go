// Package patterns finds in the output of an item how far it is, whether it has failed, lines worth reading and paths of what it wrote,
// by a job's regular expressions.
//
//	Lines  pieces of streams ──▶ lines, long ones in parts that overlap
//	New    lists of expressions ──▶ Watch, or the one that is wrong
//	Look   a line, or a part of one ──▶ Progress: per cent, Failure: the first line that matched an expression for errors; Highlights, OutputPaths
//
// A line ends with a line feed, a carriage return or a backspace (Ends). Sequences that colour a terminal, byte order
// marks and NULs are no text of it, and behind a mark of UTF-16 it is text in that encoding.
//
// Expressions are RE2, so that a line is looked at in time that grows with its length alone. Their number and length
// are bounded. The package must never keep more of the output than MaxLine bytes for each stream and what it has found,
// which is bounded.
package patterns
