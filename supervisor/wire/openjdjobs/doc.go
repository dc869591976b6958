// Package openjdjobs makes jobs of the farm of a job of Open Job Description: one for each step, with what a session on
// a host needs to run its tasks.
//
//	request ─▶ Read ─▶ Jobs: submissions in the order of their dependencies
//	                   Check: the same for a form, with what is wrong
//	a variable of each job (Data.Pack) ─▶ host ─▶ Unpack ─▶ Data.Job: the job again, whose tasks are computed there
//
// A job type is a template with attributes of its jobs, a folder each (types.go): built in, or of the site.
//
//	types/NAME/template.yaml   the job template
//	types/NAME/type.json       version, description, the parameters that file and range of qbsub are, attributes
//	types/NAME/sample/         sample.json and files: a small job, and what comes of it (typesample.go)
//
// Read next: jobs.go; the language is in package openjd.
package openjdjobs
