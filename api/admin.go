package api

import (
	"encoding/json"
	"time"
)

// RereadReply says what a supervisor that read its configuration again has taken into force.
type RereadReply struct {
	File    string   `json:"file" doc:"The file that was read; empty: none, only defaults and the environment."`
	Changed []string `json:"changed" doc:"Settings whose new value is in force."`
	Remarks []string `json:"remarks" doc:"Settings that need a restart, and other remarks."`
}

// AuditEntry is a row of the audit trail.
type AuditEntry struct {
	ID      int64           `json:"id"`
	At      time.Time       `json:"at"`
	User    string          `json:"user" doc:"Who did it; empty: no valid credential."`
	Token   string          `json:"token" doc:"Id of the token; empty: a user of the unix socket."`
	From    string          `json:"from" doc:"unix:UID, the address, a door with the address, such as flamenco:10.1.0.7, or SIGHUP."`
	Verb    string          `json:"verb" doc:"Id of the endpoint, such as submit; of refused credentials the method."`
	Object  string          `json:"object" doc:"Such as job 12, host rn01, or the path of a refused request."`
	Outcome string          `json:"outcome" enum:"done,read,refused,dropped" doc:"read: output of another user's job; dropped: refusals and reads that were only counted, see times."`
	Code    string          `json:"code" doc:"Of a refusal: its kind, or the limit."`
	Detail  json.RawMessage `json:"detail" doc:"Values before and after the change, if they are small."`
	Request string          `json:"request" doc:"The answer's Request-Id."`
	Times   int64           `json:"times"`
}

// BrakeReply answers the release of the mass-failure brake.
type BrakeReply struct {
	Affected int `json:"affected"`
}

// MailTest asks for a test mail.
type MailTest struct {
	Address string `json:"address" doc:"To whom it goes."`
}

// MailTestReply says what came of it.
type MailTestReply struct {
	Server   string `json:"server" doc:"HOST:PORT of the mail server."`
	Accepted bool   `json:"accepted" doc:"The server has taken the mail."`
	Answer   string `json:"answer" doc:"The server's last answer, or why there is none."`
}
