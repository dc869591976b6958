// Package mail sends mails about jobs that have ended, by a mail server of the site's.
//
// A mail is a row of the commit that ended its job, so nothing is told that is not durable. The leader alone sends: before it
// speaks with the server it notes the try in a transaction that holds its term, and the row goes once the server has taken the
// mail. A leader that dies between the two leaves the row to the next one, so a mail is sent at least once, and rarely twice.
//
//	row ──try noted──► server ──► taken: the row goes
//	 ▲                   ├──────► refused for good (5xx): the row goes, the job's history says why
//	 └── after a delay ◄─┴──────► not now (4xx, no connection)
//
// It must never hold up a commit or the loop of the farm, nor put text of users into a header or a command of SMTP as it is.
//
// Read sender.go, then smtp.go.
package mail
