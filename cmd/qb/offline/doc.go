// Package offline works on the rows of a farm's database without the farm: audit, backup, restore.
//
// An audit only reads. It compares the rows with each other, with the numbers that the leader counts as used, and with
// the workers' own records of what ran. A backup is pg_dump's. A restore is one transaction that psql carries out: what
// comes before the rows, the rows, and what comes after them; without the last part nothing is committed.
//
//	           ┌─ rows ── postgres.Audit
//	audit.go ──┼─ recount.go ── the leader's hosts and the live attempts
//	           └─ workers.go ── end records of the workers, and the rows of their attempts
//
// Read first: audit.go, then dump.go.
package offline
