// Package mail sends mails about jobs that have ended, by a mail server of the site's.
//
// A mail is a row of the commit that ended its job, so a mail never reports something that is not durable. The leader
// alone sends: before it speaks with the server it notes the try in a transaction that holds its term, and it deletes
// the row once the server has accepted the mail. A leader that dies between the two leaves the row to the next one, so
// a mail is sent at least once, and rarely twice.
//
//	row ──try noted──► server ──► accepted: the row is deleted
//	 ▲                   ├──────► refused for good (5xx): the row is deleted, the job's history says why
//	 └── after a delay ◄─┴──────► not now (4xx, no connection)
//
// It must never delay a commit or the loop of the farm, nor put text of users into a header or a command of SMTP as it
// is.
//
// Read sender.go, then smtp.go.
package mail
