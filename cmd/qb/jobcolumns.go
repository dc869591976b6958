package main

import (
	"fmt"
	"strconv"
	"strings"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/supervisor/job/facts"
)

// jobColumns are in the order in which -long shows them. Attributes that are not named here come last.
var jobColumns = withAttributes([]output.Column[api.Job]{
	{Name: "id", Right: true},
	{Name: "status", Status: true},
	{Name: "user"},
	always(attributeColumn("name")),
	attributeColumn("account"),
	attributeColumn("prod_show"), attributeColumn("prod_seq"), attributeColumn("prod_shot"), attributeColumn("prod_dept"),
	attributeColumn("prod_client"), attributeColumn("prod_custom1"), attributeColumn("prod_custom2"),
	attributeColumn("prod_custom3"),
	attributeColumn("prod_custom4"), attributeColumn("prod_custom5"),
	attributeColumn("pgrp"), attributeColumn("label"), attributeColumn("kind"), attributeColumn("pid"),
	attributeColumn("notes"),
	{Name: "type", Extra: true},
	always(attributeColumn("priority")),
	{Name: "globalorder", Extra: true, Right: true},
	{Name: "operatorpriority", Extra: true, Right: true},
	{Name: "localorder", Extra: true, Right: true},
	attributeColumn("cluster"),
	always(attributeColumn("cpus")),
	always(attributeColumn("max_cpus")),
	{Name: "max_cpus_effective", Extra: true},
	{Name: "running", Right: true, Text: func(j api.Job) string { return output.Running(j.Instances) }},
	{Name: "primary", Extra: true, Right: true, Member: "instances.primary"},
	{Name: "secondary", Extra: true, Right: true, Member: "instances.secondary"},
	{Name: "draining", Extra: true, Right: true, Member: "instances.draining"},
	attributeColumn("range"),
	{Name: "done", Right: true, Text: func(j api.Job) string {
		return fmt.Sprintf("%d/%d", j.Items.Complete,
			j.Items.Total)
	}},
	{Name: "progress", Extra: true, Right: true, Number: percentText},
	{Name: "items", Extra: true, Right: true, Member: "items.total"},
	{Name: "pending", Extra: true, Right: true, Member: "items.pending"},
	{Name: "complete", Extra: true, Right: true, Member: "items.complete"},
	{Name: "failed", Right: true, Member: "items.failed"},
	{Name: "failed_attempts", Extra: true, Right: true},
	{Name: "killed", Extra: true, Right: true, Member: "items.killed"},
	{Name: "blocked", Extra: true, Right: true, Member: "items.blocked"},
	{Name: "agendastatus", Extra: true, Status: true, Text: agendaStatus},
	{Name: "subjobstatus", Extra: true, Status: true, Text: instanceStatus},
	attributeColumn("retrywork"),
	{Name: "reason", Text: jobReason},
	{Name: "submitted_at", Extra: true},
	{Name: "started_at", Extra: true},
	{Name: "finished_at", Extra: true},
	{Name: "mean_item", Extra: true, Right: true, Member: "mean_item_seconds", Number: output.Seconds},
	{Name: "estimated_item", Extra: true, Right: true, Member: "estimated_item_seconds", Number: output.Seconds},
	attributeColumn("timelimit"),
	attributeColumn("agendatimelimit"),
	{Name: "need", Extra: true, Right: true, Member: "memory.need", Number: output.KnownSize},
	{Name: "requested", Extra: true, Right: true, Member: "memory.requested", Number: output.KnownSize},
	{Name: "largest_peak", Extra: true, Right: true, Member: "memory.largest_peak", Number: output.KnownSize},
	{Name: "memory", Extra: true, Text: func(j api.Job) string { return learnedText(j.Memory, j.Learned) }},
	attributeColumn("profile"),
	{Name: "learned", Extra: true, Text: func(j api.Job) string { return profileText(j.Learned) }},
	attributeColumn("reservations"),
	attributeColumn("requirements"), attributeColumn("hosts"), attributeColumn("omithosts"), attributeColumn("groups"),
	attributeColumn("omitgroups"), attributeColumn("restrictions"), attributeColumn("hostorder"), attributeColumn("flags"),
	attributeColumn("dependency"), attributeColumn("cwd"),
	{Name: "command", Extra: true, Text: func(j api.Job) string { return strings.Join(j.Command, " ") }},
})

// agendaStatus is Qube's one word for the states of all items: what runs before what waits, and of ended ones as a job
// ends.
func agendaStatus(j api.Job) string {
	for _, state := range []struct {
		name  string
		items int
	}{
		{"running", j.Items.Running}, {"pending", j.Items.Pending}, {"blocked", j.Items.Blocked}, {"killed", j.Items.Killed},
		{"failed", j.Items.Failed},
	} {
		if state.items > 0 {
			return state.name
		}
	}
	return "complete"
}

// instanceStatus is Qube's one word for the states of all instances: they run, or are as the job is.
func instanceStatus(j api.Job) string {
	if i := j.Instances; i.Primary+i.Secondary+i.Draining > 0 && j.Status != "suspended" {
		return "running"
	}
	return j.Status
}

// learnedText says where a job's need comes from.
func learnedText(m api.JobMemory, l *api.Learned) string {
	var parts []string
	switch {
	case l != nil && l.Memory > 0 && l.Memory > m.LargestPeak:
		parts = append(parts, profileMemoryText(l))
	case m.Returned > 0:
		parts = append(parts, "learned from "+facts.Several(m.Returned, "complete item"))
	case m.RanOut > 0 && m.Need > m.LargestPeak && (m.Requested == nil || m.Need > *m.Requested):
		parts = append(parts, "more than what was not enough")
	case m.Need == 0:
		parts = append(parts, "not known yet: supervisor_default_memory or less")
	case m.LargestPeak >= m.Need:
		parts = append(parts, "learned from items that did not complete")
	case m.Requested != nil:
		parts = append(parts, "as requested")
	}
	if m.RanOut > 0 {
		parts = append(parts, fmt.Sprintf("%d ran out of memory and may get more", m.RanOut))
	}
	return strings.Join(parts, "; ")
}

// widthText writes a max_cpus as it was given.
func widthText(n float64) string {
	if n < 0 {
		return "*"
	}
	return strconv.Itoa(int(n))
}

// describe names all that is set of a job, as qbjobs -long does.
func describe(job api.Job) (fields [][2]string) {
	for _, c := range jobColumns {
		if text := c.Of(job); text != "" {
			fields = append(fields, [2]string{c.Name, text})
		}
	}
	return fields
}
