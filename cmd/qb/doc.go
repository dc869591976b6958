// Command qb is the farm's one program. `qb sub …` and a link called qbsub are the same.
//
// It reads options and qb.conf, calls one function, prints. It must never decide anything about the
// farm: the supervisor decides what a job may do, where it runs and who may change it. This package is also
// the only place that knows the older words of users' scripts.
//
//	words ──rewrite──▶ command ──▶ configuration ──▶ api client ──▶ supervisor
//	                      │
//	                      └─ farm ─▶ private Postgres, supervisor, `qb worker` × N
//
// Exit codes: 0 done, 1 refused or nothing affected, 2 wrong usage, 3 supervisor not reachable, 4 not
// allowed. Standard output holds what scripts read; remarks and errors go to standard error.
//
// Read first: main.go (which commands there are), commandline/args.go (how words become options), service/farm.go (how
// one process becomes a farm).
package main
