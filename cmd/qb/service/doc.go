// Package service has the commands that are the farm: qb farm, its supervisor and its workers; the ones that work on
// what they keep: audit, backup, restore and the farm's CA; and qb plan, which plans as the supervisor does. It alone
// among the commands links parts of the supervisor and of the worker; the client build (-tags client) is without it.
//
// It must never need a farm that runs already; commands that ask one are elsewhere.
//
// An audit only reads. It compares the rows with each other, with the numbers that the leader counts as used, and with
// the workers' own records of what ran. A backup is pg_dump's. A restore is one transaction that psql carries out: what
// comes before the rows, the rows, and what comes after them; without the last part nothing is committed.
//
//	             ┌─ rows ── postgres.Audit
//	auditor.go ──┼─ recount.go ── the leader's hosts and the live attempts
//	             └─ endrecords.go ── end records of the workers, and the rows of their attempts
//
// Read first: service.go, then farm.go; auditor.go; database.go.
package service
