// Package people finds out whether somebody works at the host now: when a terminal was last used, and what logind says
// of idle sessions. It never reads what people type.
//
// Read presence.go.
package people
