package api

import "time"

// SelfAudit is what came of the last comparison of the workers' records with the rows that a leader made by itself.
type SelfAudit struct {
	At       time.Time      `json:"at"`
	Seconds  float64        `json:"seconds" doc:"What it took."`
	Since    time.Time      `json:"since" doc:"Attempts that ended before are not compared."`
	Hosts    int            `json:"hosts" doc:"Workers that sent all their records."`
	Missing  int            `json:"missing" doc:"Hosts that are up and did not."`
	Records  int            `json:"records"`
	Cut      bool           `json:"cut" doc:"There were more records than are compared."`
	Problems int            `json:"problems"`
	Kinds    map[string]int `json:"kinds" doc:"How many problems of each kind, as in qb audit -workers -json."`
}

// Ping says who answers.
type Ping struct {
	Version       string    `json:"version"`
	Leader        bool      `json:"leader"`
	Epoch         int64     `json:"epoch"`
	LeaderURL     string    `json:"leader_url" doc:"Address of the supervisor that leads; empty: not known."`
	Supervisor    string    `json:"supervisor" doc:"Host name of the process that answers."`
	User          string    `json:"user" doc:"User of the credential."`
	Role          string    `json:"role"`
	Rights        []string  `json:"rights" doc:"What the credential may do."`
	DefaultRights []string  `json:"default_rights" doc:"Rights of the role user: of users who were not added, too."`
	Now           time.Time `json:"now"`
	Slots         int       `json:"slots"`
	Hosts         int       `json:"hosts"`
	Trouble       string    `json:"trouble" doc:"Why the farm is read-only, such as a full disk of the database; empty: it is not."`
	Promise       string    `json:"promise" doc:"Of a supervisor that stands by: in what the lease, grace and margin that it would promise differ from those in the rows; empty: in nothing."`
	Brake         string    `json:"brake" doc:"Why items of silent hosts are not moved now (the mass-failure brake); empty: they are."`
	NoPlans       string    `json:"no_plans" doc:"Why no instances are started or stopped now (plans fail); empty: they are."`
	LagSeconds    float64   `json:"lag_seconds" doc:"For how long the oldest report of a worker has waited to be read; a supervisor that keeps up has a few hundredths of a second."`
	Limits        []Limit   `json:"limits" doc:"Limits of the caller that are nearly reached, or that refused a call in the last minutes."`

	Doors []string `json:"doors,omitempty" doc:"What the supervisor that answers has open without a login, and to whom."`

	LastEnd *TermEnd   `json:"last_end,omitempty" doc:"How the last term of the supervisor that answers ended, if it was not to."`
	Audit   *SelfAudit `json:"audit,omitempty" doc:"The last comparison of the workers' records with the rows that the supervisor that answers made by itself."`
}

// TermEnd is how a term ended that was not to.
type TermEnd struct {
	At    time.Time `json:"at"`
	Epoch int64     `json:"epoch"`
	Code  string    `json:"code" doc:"See docs/codes.md."`
	Text  string    `json:"text" doc:"The same as a sentence."`
}
