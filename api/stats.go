package api

import "time"

// Stats reports what ended attempts used in a range of days.
type Stats struct {
	From string     `json:"from" doc:"First UTC day of the report."`
	To   string     `json:"to" doc:"Last UTC day of the report."`
	Rows []StatsRow `json:"rows"`
	More bool       `json:"more" doc:"There are more rows than were asked for."`
}

// StatsRow is a line of a report; it has the members that the report is divided by. An attempt counts whole on the
// day of its end.
type StatsRow struct {
	Day       string            `json:"day,omitempty" doc:"UTC."`
	User      string            `json:"user,omitempty"`
	Account   *string           `json:"account,omitempty" doc:"Empty for none."`
	Cluster   string            `json:"cluster,omitempty" doc:"Of the job."`
	Host      string            `json:"host,omitempty"`
	Kind      string            `json:"kind,omitempty" doc:"primary or secondary (work with a result), preempted, killed, or failed (lost included)."`
	Class     string            `json:"class,omitempty" doc:"Class of the host by its present slots, memory, GPUs and speed; absent for a removed host."`
	Tags      map[string]string `json:"tags,omitempty" doc:"Tags of the job by which the report is grouped; empty: none."`
	Attempts  int64             `json:"attempts"`
	Slots     float64           `json:"slot_hours" doc:"Slots held × wall time."`
	CPU       float64           `json:"cpu_hours" doc:"Processor time used."`
	Memory    float64           `json:"memory_gib_hours" doc:"Memory reserved, or used if that is more, × wall time."`
	Secondary float64           `json:"secondary" doc:"Fraction of the slot-hours that was secondary and gave a result."`
	Preempted float64           `json:"preempted" doc:"Fraction of the slot-hours that was lost to preemption."`
	Killed    float64           `json:"killed" doc:"Fraction of the slot-hours that an order to kill ended. Days that were summed up before qb knew it have it in failed."`
	Failed    float64           `json:"failed" doc:"Fraction of the slot-hours that failed or were lost."`
	Charged   float64           `json:"charged_hours" doc:"CPU-equivalent hours charged, not decayed."`
}

// DayOf writes the UTC day of a moment.
func DayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// GetStats is the endpoint of reports.
var GetStats = Endpoint{"get-stats", "GET", "/v1/stats", ReadOnly,
	"What ended attempts used, by day, user, account, cluster, host, kind, class of hosts and tags of jobs"}
