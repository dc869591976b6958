package main

import (
	"fmt"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/supervisor/facts"
)

// jobColumns are in the order in which -long shows them.
var jobColumns = []output.Column[api.Job]{
	{Name: "id", Right: true, Text: func(j api.Job) string { return strconv.FormatInt(j.ID, 10) }},
	{Name: "status", Text: func(j api.Job) string { return j.Status }, Style: func(j api.Job) lipgloss.Style { return output.StatusStyle(j.Status) }},
	{Name: "user", Text: func(j api.Job) string { return j.User }},
	{Name: "name", Text: func(j api.Job) string { return j.Name }},
	{Name: "account", Extra: true, Text: func(j api.Job) string { return j.Account }},
	tagColumn(0), tagColumn(1), tagColumn(2), tagColumn(3), tagColumn(4),
	tagColumn(5), tagColumn(6), tagColumn(7), tagColumn(8), tagColumn(9),
	{Name: "pgrp", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.FormatInt(j.PGrp, 10) }},
	{Name: "type", Extra: true, Text: func(j api.Job) string { return j.Type }},
	{Name: "priority", Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Priority) }},
	{Name: "cluster", Extra: true, Text: func(j api.Job) string { return j.Cluster }},
	{Name: "cpus", Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.CPUs) }},
	{Name: "max_cpus", Right: true, Text: func(j api.Job) string { return widthText(j.MaxCPUs) }},
	{Name: "max_cpus_effective", Extra: true, Text: func(j api.Job) string { return strconv.Itoa(j.MaxCPUsEffective) }},
	{Name: "running", Right: true, Text: func(j api.Job) string { return runningText(j.Instances) }},
	{Name: "primary", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Instances.Primary) }},
	{Name: "secondary", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Instances.Secondary) }},
	{Name: "draining", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Instances.Draining) }},
	{Name: "range", Extra: true, Text: func(j api.Job) string { return j.Range }},
	{Name: "done", Right: true, Text: func(j api.Job) string { return fmt.Sprintf("%d/%d", j.Items.Complete, j.Items.Total) }},
	{Name: "items", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Items.Total) }},
	{Name: "pending", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Items.Pending) }},
	{Name: "complete", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Items.Complete) }},
	{Name: "failed", Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Items.Failed) }},
	{Name: "killed", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Items.Killed) }},
	{Name: "blocked", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.Items.Blocked) }},
	{Name: "retrywork", Extra: true, Right: true, Text: func(j api.Job) string { return strconv.Itoa(j.RetryWork) }},
	{Name: "reason", Text: func(j api.Job) string { return j.Reason }},
	{Name: "submitted_at", Extra: true, Text: func(j api.Job) string { return output.Moment(&j.SubmittedAt) }},
	{Name: "started_at", Extra: true, Text: func(j api.Job) string { return output.Moment(j.StartedAt) }},
	{Name: "finished_at", Extra: true, Text: func(j api.Job) string { return output.Moment(j.FinishedAt) }},
	{Name: "mean_item", Extra: true, Right: true, Text: func(j api.Job) string { return secondsOrNone(j.MeanItemSeconds) }},
	{Name: "estimated_item", Extra: true, Right: true, Text: func(j api.Job) string { return secondsOrNone(j.EstimatedItem) }},
	{Name: "timelimit", Extra: true, Right: true, Text: func(j api.Job) string { return limitText(j.TimeLimit) }},
	{Name: "agendatimelimit", Extra: true, Right: true, Text: func(j api.Job) string { return limitText(j.AgendaTimeLimit) }},
	{Name: "need", Extra: true, Right: true, Text: func(j api.Job) string { return memoryText(j.Memory.Need) }},
	{Name: "requested", Extra: true, Right: true, Text: func(j api.Job) string {
		if j.Memory.Requested == nil {
			return ""
		}
		return memoryText(*j.Memory.Requested)
	}},
	{Name: "largest_peak", Extra: true, Right: true, Text: func(j api.Job) string { return memoryText(j.Memory.LargestPeak) }},
	{Name: "memory", Extra: true, Text: func(j api.Job) string { return learnedText(j.Memory) }},
	{Name: "reservations", Extra: true, Text: func(j api.Job) string { return j.Reservations }},
	{Name: "requirements", Extra: true, Text: func(j api.Job) string { return j.Requirements }},
	{Name: "hosts", Extra: true, Text: func(j api.Job) string { return strings.Join(j.Hosts, ",") }},
	{Name: "omithosts", Extra: true, Text: func(j api.Job) string { return strings.Join(j.OmitHosts, ",") }},
	{Name: "groups", Extra: true, Text: func(j api.Job) string { return strings.Join(j.Groups, ",") }},
	{Name: "omitgroups", Extra: true, Text: func(j api.Job) string { return strings.Join(j.OmitGroups, ",") }},
	{Name: "restrictions", Extra: true, Text: func(j api.Job) string { return j.Restrictions }},
	{Name: "hostorder", Extra: true, Text: func(j api.Job) string { return j.HostOrder }},
	{Name: "flags", Extra: true, Text: func(j api.Job) string { return strings.Join(j.Flags, ",") }},
	{Name: "dependency", Extra: true, Text: func(j api.Job) string { return j.Dependency }},
	{Name: "cwd", Extra: true, Text: func(j api.Job) string { return j.Cwd }},
	{Name: "command", Extra: true, Text: func(j api.Job) string { return strings.Join(j.Command, " ") }},
}

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

// runningText is primaries + secondaries, and what is leaving.
func runningText(n api.InstanceCounts) string {
	text := fmt.Sprintf("%d+%d", n.Primary, n.Secondary)
	if n.Draining > 0 {
		text += fmt.Sprintf("-%d", n.Draining)
	}
	return text
}

// tagColumn shows one of the tags for reports.
func tagColumn(n int) output.Column[api.Job] {
	name := facts.TagNames[n]
	return output.Column[api.Job]{Name: name, Extra: true, Text: func(j api.Job) string { return j.Tags[name] }}
}
