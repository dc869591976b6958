// Package problem makes the refusals that the supervisor answers over HTTP: problems of RFC 9457, whose type is
// urn:qb:error:KIND with a kind of package api.
//
// Handlers return an *api.Error (Invalid and Reading make the common ones) or any other error; Of turns it into the
// answer, and Write writes it where no handler runs. The text of an error of the database or of a bug is for the log: a
// client learns only that it should try again, or that the supervisor failed.
//
// It must never show a user, a host or a statement of the database, nor a value that may be a secret.
package problem
