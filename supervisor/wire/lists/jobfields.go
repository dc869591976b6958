package lists

import (
	"slices"
	"time"

	"qb/agenda"
	"qb/supervisor/job/facts"
)

type jobField = Field[facts.JobView]

func text(name string, of func(*facts.JobView) string) jobField {
	return jobField{Name: name, Kind: agenda.KindText, Of: func(v *facts.JobView) agenda.Value {
		return agenda.TextValue(of(v))
	}}
}

func number[N int | int64 | facts.JobID](name string, of func(*facts.JobView) N) jobField {
	return jobField{Name: name, Kind: agenda.KindNumber, Of: func(v *facts.JobView) agenda.Value {
		return agenda.NumberValue(float64(of(v)))
	}}
}

func list(name string, of func(*facts.JobView) []string) jobField {
	return jobField{Name: name, Kind: agenda.KindList, Of: func(v *facts.JobView) agenda.Value {
		return agenda.ListValue(of(v))
	}}
}

// counted is a number that only the farm, or the rows of all attempts, tell.
func counted(name string, of func(*facts.JobView) int) jobField {
	f := number(name, of)
	f.Counted = true
	return f
}

// moment is a time, for orders alone; none comes first.
func moment(name string, isCounted bool, of func(*facts.JobView) time.Time) jobField {
	return jobField{Name: name, Kind: agenda.KindNumber, Counted: isCounted, Ordered: true,
		Of: func(v *facts.JobView) agenda.Value {
			if at := of(v); !at.IsZero() {
				return agenda.NumberValue(float64(at.UnixMicro()))
			}
			return agenda.NumberValue(0)
		}}
}

// JobFields are those by which jobs are chosen and ordered.
var JobFields = NewFields(jobFields)

var jobFields = slices.Concat([]jobField{
	number("id", func(v *facts.JobView) facts.JobID { return v.ID }),
	text("name", func(v *facts.JobView) string { return v.Name }),
	text("user", func(v *facts.JobView) string { return v.User }),
	text("status", func(v *facts.JobView) string { return v.Status }),
	text("code", func(v *facts.JobView) string { return string(v.Code) }),
	text("type", func(v *facts.JobView) string { return v.Type() }),
	number("priority", func(v *facts.JobView) int { return v.Priority }),
	text("cluster", func(v *facts.JobView) string { return v.Cluster }),
	number("cpus", func(v *facts.JobView) int { return v.CPUs }),
	number("pgrp", func(v *facts.JobView) facts.JobID { return v.PGrp }),
	text("label", func(v *facts.JobView) string { return v.Label }),
	text("kind", func(v *facts.JobView) string { return v.Kind }),
	text("system", func(v *facts.JobView) string { return v.System }),
	number("pid", func(v *facts.JobView) facts.JobID { return v.PID }),
	text("notes", func(v *facts.JobView) string { return v.Notes }),
	text("account", func(v *facts.JobView) string { return v.Account }),
	text("profile", func(v *facts.JobView) string { return v.Profile }),
	text("dependency", func(v *facts.JobView) string { return v.Dependency }),
	text("requirements", func(v *facts.JobView) string { return v.Requirements }),
	text("reservations", func(v *facts.JobView) string { return v.Reservations }),
	text("restrictions", func(v *facts.JobView) string { return v.Restrictions }),
	list("hosts", func(v *facts.JobView) []string { return v.Hosts }),
	list("groups", func(v *facts.JobView) []string { return v.Groups }),
	list("flags", func(v *facts.JobView) []string { return v.Flags }),
	number("retrywork", func(v *facts.JobView) int { return v.RetryWork }),
	counted("items.total", func(v *facts.JobView) int { return v.Items.Total }),
	counted("items.pending", func(v *facts.JobView) int { return v.Items.Pending }),
	counted("items.running", func(v *facts.JobView) int { return v.Items.Running }),
	counted("items.complete", func(v *facts.JobView) int { return v.Items.Complete }),
	counted("items.failed", func(v *facts.JobView) int { return v.Items.Failed }),
	counted("items.killed", func(v *facts.JobView) int { return v.Items.Killed }),
	counted("items.blocked", func(v *facts.JobView) int { return v.Items.Blocked }),
	counted("instances.primary", func(v *facts.JobView) int { return v.Primary }),
	counted("instances.secondary", func(v *facts.JobView) int { return v.Secondary }),
	moment("submitted_at", false, func(v *facts.JobView) time.Time { return v.SubmittedAt }),
	moment("started_at", true, func(v *facts.JobView) time.Time { return v.StartedAt }),
	moment("finished_at", false, func(v *facts.JobView) time.Time { return v.FinishedAt }),
}, tags())

func tags() (list []jobField) {
	for n, name := range facts.TagNames {
		list = append(list, text(name, func(v *facts.JobView) string { return v.Tags[n] }))
	}
	return list
}
