// Package limits bounds what one user takes of the supervisor: jobs, bytes and changes a minute, bytes in the database,
// open streams. It also tells each user which limits are nearly used up. The limits on unfinished jobs are the farm's.
//
// Nothing of it is stored: a new leader begins with full allowances, and asks the database what each user's jobs take.
// The memory that it needs is bounded however many users there are.
package limits
