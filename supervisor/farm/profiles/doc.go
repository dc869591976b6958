// Package profiles remembers what jobs have taught of the memory and time of their items, for the next job of the same
// kind.
//
// A profile belongs to one owner, so that no user teaches the jobs of others. Each of its jobs teaches one lesson: how
// much memory an item needs, how long it takes, and from how many items that is known. The lesson of a job that has not
// ended follows from the job's own items, which are rows already; only the lesson of a job that ends is written, in the
// commit of that end. So an item costs no row, and a farm that is rebuilt from the rows knows what the one before it
// knew.
//
// It is pure, and knows no jobs or hosts: what an estimate does to a job is for the farm.
//
//	job ends: lesson -> row ─┐
//	job's items: lesson ─────┼─> estimate: the largest of the lessons
//	a person sets or forgets ┘
//
// Read profiles.go, then change.go.
package profiles
