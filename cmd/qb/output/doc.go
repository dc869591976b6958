// Package output writes what a command prints: tables, JSON, XML, CSV, and texts that are safe on a terminal.
//
// Names and texts of the farm come from its users. Nothing that is printed may move a terminal's cursor, hide a line or
// turn the direction of text, so each text passes Escape, and an item's output on a terminal passes a TerminalFilter.
// JSON remains the same value: EscapeJSON writes such characters as \u sequences.
//
// Read first: options.go (what every listing takes), column.go, list.go (tables, JSON), escape.go, terminal.go.
package output
