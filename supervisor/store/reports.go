package store

import (
	"time"

	"qb/supervisor/job/facts"
)

// StatsQuery selects ended attempts by the day of their end.
type StatsQuery struct {
	From, To time.Time // UTC days; To is the first day that is left out
	By       []string
	User     string     // "": all
	Account  string     // with what lies below it; "": all
	Cluster  string     // it or one below; "": all
	Host     string     // "": all
	Tags     facts.Tags // "": all
	Limit    int        // rows; 0 or more than MaxPage: MaxPage
}

// StatsRow is a line of a report; what it is not divided by is zero. Failed is what gave no result through
// neither preemption nor a kill. All but Charged is in seconds, times slots or bytes held.
type StatsRow struct {
	Day                                time.Time
	User, Account, Cluster, Host, Kind string
	Tags                               facts.Tags
	Class                              string
	Attempts                           int64
	Slots, CPU, Memory                 float64
	Secondary, Preempted, Killed       float64 // of Slots
	Failed                             float64 // of Slots, lost included
	Charged                            float64 // CPU-equivalent seconds that owners paid
}

// Groupings are all of them, in the order of a report; the last are the tags of jobs.
var Groupings = append([]string{ByDay, ByUser, ByAccount, ByCluster, ByHost, ByKind, ByClass}, facts.TagNames[:]...)

// AuditQuery narrows the trail; the newest rows come first.
type AuditQuery struct {
	User   string    // "": everybody's
	Since  time.Time // zero: from the first
	Before int64     // 0: from the newest; else ids below it
	Limit  int       // 0 or more than MaxPage: MaxPage
}

// AuditRow is a row of the trail.
type AuditRow struct {
	ID int64
	facts.AuditFacts
}

// LedgerDay sums a payer's ended attempts of a day, separately for charged and uncharged attempts. Charge and Decayed
// are CPU-equivalent seconds, Wall is in seconds.
type LedgerDay struct {
	Day      time.Time
	Charged  bool
	Attempts int64
	Wall     float64
	Charge   float64
	Decayed  float64
}

// What a report may be divided by.
const (
	ByDay     = "day"
	ByUser    = "user"
	ByAccount = "account"
	ByCluster = "cluster" // of the job
	ByHost    = "host"
	ByKind    = "kind"
	ByClass   = "class" // of the host, by what its row says of it now
)
