// Package settings holds what a site can set for the supervisor in qb.conf: the keys with their help, their defaults,
// their checks, and the policies that the farm and the store receive.
//
//	qb.conf, QB_ variables ──▶ Config ──Validate──▶ Policy, retention, limits
//
// It must never read a file: cmd/qb does that. Read first: config.go.
package settings
