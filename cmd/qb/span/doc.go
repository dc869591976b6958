// Package span reads time spans in options: 90 (seconds), 5m, 1h30m, 7d, as qb.conf does.
package span
