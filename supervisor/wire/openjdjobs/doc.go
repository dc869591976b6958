// Package openjdjobs makes jobs of the farm of a job of Open Job Description: one for each step, with what a session on
// a host needs to run its tasks.
//
//	request ─▶ Read ─▶ Jobs: submissions in the order of their dependencies
//	                   Check: the same for a form, with what is wrong
//	a variable of each job (Data.Pack) ─▶ host ─▶ Unpack ─▶ Data.Job: the job again, whose tasks are computed there
//
// Read next: jobs.go; the language is in package openjd.
package openjdjobs
