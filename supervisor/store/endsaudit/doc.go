// Package endsaudit collects the end records of all workers for an audit, a page at a time, and compares them with each
// other and with the rows.
//
// It must never keep a page for longer than the asker needs to take it.
//
//	workers ── pages ──> endsaudit.go ──> the asker ──> collect.go ──> compare.go <── rows.go: the rows of the attempts
//
// Read first: endsaudit.go, then collect.go.
package endsaudit
