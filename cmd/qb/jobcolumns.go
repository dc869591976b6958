package main

import (
	"fmt"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"

	"qb/api"
	"qb/cmd/qb/output"
)

// jobColumns are in the order in which -long shows them. Attributes that are not named here come last.
var jobColumns = withAttributes([]output.Column[api.Job]{
	{Name: "id", Right: true, Text: func(j api.Job) string { return strconv.FormatInt(j.ID, 10) }},
	{Name: "status", Text: func(j api.Job) string { return j.Status }, Style: func(j api.Job) lipgloss.Style { return output.StatusStyle(j.Status) }},
	{Name: "user", Text: func(j api.Job) string { return j.User }},
	always(attributeColumn("name")),
	attributeColumn("account"),
	attributeColumn("prod_show"), attributeColumn("prod_seq"), attributeColumn("prod_shot"), attributeColumn("prod_dept"),
	attributeColumn("prod_client"), attributeColumn("prod_custom1"), attributeColumn("prod_custom2"), attributeColumn("prod_custom3"),
	attributeColumn("prod_custom4"), attributeColumn("prod_custom5"),
	{Name: "pgrp", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.FormatInt(j.PGrp, 10) }},
	{Name: "type", Extra: true, Text: func(j api.Job) string { return j.Type }},
	always(attributeColumn("priority")),
	attributeColumn("cluster"),
	always(attributeColumn("cpus")),
	always(attributeColumn("max_cpus")),
	{Name: "max_cpus_effective", Extra: true, Text: func(j api.Job) string { return strconv.Itoa(j.MaxCPUsEffective) }},
	{Name: "running", Right: true, Text: func(j api.Job) string { return output.Running(j.Instances) }},
	{Name: "primary", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Instances.Primary) }},
	{Name: "secondary", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Instances.Secondary) }},
	{Name: "draining", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Instances.Draining) }},
	attributeColumn("range"),
	{Name: "done", Right: true, Text: func(j api.Job) string { return fmt.Sprintf("%d/%d", j.Items.Complete, j.Items.Total) }},
	{Name: "items", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Items.Total) }},
	{Name: "pending", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Items.Pending) }},
	{Name: "complete", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Items.Complete) }},
	{Name: "failed", Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Items.Failed) }},
	{Name: "killed", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Items.Killed) }},
	{Name: "blocked", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Items.Blocked) }},
	attributeColumn("retrywork"),
	{Name: "reason", Text: func(j api.Job) string { return j.Reason }},
	{Name: "submitted_at", Extra: true, Text: func(j api.Job) string { return output.Moment(&j.SubmittedAt) }},
	{Name: "started_at", Extra: true, Text: func(j api.Job) string { return output.Moment(j.StartedAt) }},
	{Name: "finished_at", Extra: true, Text: func(j api.Job) string { return output.Moment(j.FinishedAt) }},
	{Name: "mean_item", Extra: true, Right: true, Text: func(j api.Job) string { return secondsOrNone(j.MeanItemSeconds) }},
	{Name: "estimated_item", Extra: true, Right: true, Text: func(j api.Job) string { return secondsOrNone(j.EstimatedItem) }},
	attributeColumn("timelimit"),
	attributeColumn("agendatimelimit"),
	{Name: "need", Extra: true, Right: true, Text: func(j api.Job) string { return memoryText(j.Memory.Need) }},
	{Name: "requested", Extra: true, Right: true, Text: func(j api.Job) string {
		if j.Memory.Requested == nil {
			return ""
		}
		return memoryText(*j.Memory.Requested)
	}},
	{Name: "largest_peak", Extra: true, Right: true, Text: func(j api.Job) string { return memoryText(j.Memory.LargestPeak) }},
	{Name: "memory", Extra: true, Text: func(j api.Job) string { return learnedText(j.Memory) }},
	attributeColumn("reservations"),
	attributeColumn("requirements"), attributeColumn("hosts"), attributeColumn("omithosts"), attributeColumn("groups"),
	attributeColumn("omitgroups"), attributeColumn("restrictions"), attributeColumn("hostorder"), attributeColumn("flags"),
	attributeColumn("dependency"), attributeColumn("cwd"),
	{Name: "command", Extra: true, Text: func(j api.Job) string { return strings.Join(j.Command, " ") }},
})

func secondsOrNone(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	return secondsText(*seconds)
}

func limitText(seconds int) string { return secondsText(float64(seconds)) }

// learnedText says where a job's need comes from.
func learnedText(m api.JobMemory) string {
	var parts []string
	switch {
	case m.Returned == 1:
		parts = append(parts, "learned from 1 complete item")
	case m.Returned > 1:
		parts = append(parts, fmt.Sprintf("learned from %d complete items", m.Returned))
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
func widthText(n *int) string {
	switch {
	case n == nil:
		return ""
	case *n < 0:
		return "*"
	}
	return strconv.Itoa(*n)
}
