// Package patterns finds patterns in the lines of an item's output, as it comes: in linear time, whatever the pattern, and in bounded
// memory, whatever the output.
//
// It must never change what it looks at, nor keep more of a line than MostLine bytes.
//
// Read patterns.go.
package patterns
