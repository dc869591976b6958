package jobfilter

import (
	"slices"

	"qb/agenda"
	"qb/supervisor/facts"
)

// field is a property of jobs that expressions may use.
type field struct {
	name string
	kind agenda.PropertyKind
	of   func(*facts.JobView) agenda.Value
}

func text(name string, of func(*facts.JobView) string) field {
	return field{name, agenda.KindText, func(v *facts.JobView) agenda.Value { return agenda.TextValue(of(v)) }}
}

func number[N int | int64 | facts.JobID](name string, of func(*facts.JobView) N) field {
	return field{name, agenda.KindNumber, func(v *facts.JobView) agenda.Value { return agenda.NumberValue(float64(of(v))) }}
}

func list(name string, of func(*facts.JobView) []string) field {
	return field{name, agenda.KindList, func(v *facts.JobView) agenda.Value { return agenda.ListValue(of(v)) }}
}

var fields = slices.Concat([]field{
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
}, tags())

func tags() (list []field) {
	for n, name := range facts.TagNames {
		list = append(list, text(name, func(v *facts.JobView) string { return v.Tags[n] }))
	}
	return list
}

var (
	properties []agenda.Property
	byName     = map[string]field{}
)

func init() {
	for _, f := range fields {
		properties = append(properties, agenda.Property{Name: f.name, Kind: f.kind})
		byName[f.name] = f
	}
}

func lookup(v *facts.JobView) agenda.Lookup {
	return func(name string) (agenda.Value, bool) {
		f, ok := byName[name]
		if !ok {
			return agenda.Value{}, false
		}
		return f.of(v), true
	}
}
