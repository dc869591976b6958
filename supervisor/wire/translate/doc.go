// Package translate converts between the wire types of package api and the rows and events of the farm. It makes facts
// or an event from a request, after all checks that do not need the farm (Submission, Modification, ReadSync); from
// rows, views and replies it makes what api shows (Job, Host, Attempt, Event, AnswerSync and others).
//
// It has no state, reads no database and checks no rights: its callers do.
//
// Read first: validate.go (what a submission and a change may be), sync.go (what a worker reports and hears), job.go.
package translate
