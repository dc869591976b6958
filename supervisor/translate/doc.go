// Package translate stands between the wire types of package api and the rows and events of the farm. Of a request it
// checks all that can be checked without the farm and makes facts or an event (Submission, Modification, ReadSync); of
// rows, views and replies it makes what api shows (Job, Host, Attempt, Event, AnswerSync and others).
//
// It has no state, reads no database and asks nobody: who may see what is said by its caller.
//
// Read first: validate.go (what a submission and a change may be), sync.go (what a worker reports and hears), job.go.
package translate
