// Package audit makes the rows of the audit trail. It has one for each change, written in the commit of the change, for
// each read of another's output and for each refusal. Reads and refusals are written soon after, so many a minute for
// each caller; more are only counted, so that a flood of them does not fill the database.
//
// A request that changes something carries a [Note]; its handler adds to it what the change acts on.
package audit
