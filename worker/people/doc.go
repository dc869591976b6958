// Package people finds out when a host is kept for the people who use it: by a weekly calendar, or because somebody works
// at it now.
//
//	calendar.go   the hours of a week, as qb.conf writes them; pure
//	presence.go   when somebody last used the keyboard or the mouse: terminals and logind
//
// It never reads what people type: only when a terminal was last used, and what logind says of idle sessions.
package people
