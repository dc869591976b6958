// Package patterns finds in the output of an item how far it is, whether it has failed, lines worth reading and paths
// of what it wrote, by a job's regular expressions.
//
//	Text   pieces of a stream ──▶ its text with the places in the stream
//	Lines  pieces of streams ──▶ lines, long ones in parts that overlap
//	New    lists of expressions ──▶ Watch, or the wrong expression
//	Look   a line, or a part of one ──▶ Progress: per cent, Highlights, OutputPaths, and Failure: the first line that
//	       matched an expression for errors
//
// A line ends with a line feed, a carriage return or a backspace (Ends). Sequences that colour a terminal, byte order
// marks and NULs are no text of it. Output that begins with UTF-16 is text in that encoding. Find in a log uses the
// same text (package page), and the page follows the same rules (web/static/lines.js).
//
// Expressions are RE2, so that a line is looked at in time that grows with its length alone. Their number and length
// are bounded. The package must never keep more of the output than MaxLine bytes for each stream and what it has found,
// which is bounded.
package patterns
