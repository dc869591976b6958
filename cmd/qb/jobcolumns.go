package main

import (
	"fmt"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"

	"qb/api"
	"qb/supervisor/facts"
)

// jobColumns are in the order in which -long shows them.
var jobColumns = []column[api.Job]{
	{name: "id", right: true, text: func(j api.Job) string { return strconv.FormatInt(j.ID, 10) }},
	{name: "status", text: func(j api.Job) string { return j.Status }, style: func(j api.Job) lipgloss.Style { return statusStyle(j.Status) }},
	{name: "user", text: func(j api.Job) string { return j.User }},
	{name: "name", text: func(j api.Job) string { return j.Name }},
	{name: "account", extra: true, text: func(j api.Job) string { return j.Account }},
	tagColumn(0), tagColumn(1), tagColumn(2), tagColumn(3), tagColumn(4),
	tagColumn(5), tagColumn(6), tagColumn(7), tagColumn(8), tagColumn(9),
	{name: "pgrp", extra: true, right: true, text: func(j api.Job) string { return strconv.FormatInt(j.PGrp, 10) }},
	{name: "type", extra: true, text: func(j api.Job) string { return j.Type }},
	{name: "priority", right: true, text: func(j api.Job) string { return strconv.Itoa(j.Priority) }},
	{name: "cluster", extra: true, text: func(j api.Job) string { return j.Cluster }},
	{name: "cpus", right: true, text: func(j api.Job) string { return strconv.Itoa(j.CPUs) }},
	{name: "max_cpus", right: true, text: func(j api.Job) string { return widthText(j.MaxCPUs) }},
	{name: "max_cpus_effective", extra: true, text: func(j api.Job) string { return strconv.Itoa(j.MaxCPUsEffective) }},
	{name: "running", right: true, text: func(j api.Job) string { return runningText(j.Instances) }},
	{name: "primary", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.Instances.Primary) }},
	{name: "secondary", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.Instances.Secondary) }},
	{name: "draining", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.Instances.Draining) }},
	{name: "range", extra: true, text: func(j api.Job) string { return j.Range }},
	{name: "done", right: true, text: func(j api.Job) string { return fmt.Sprintf("%d/%d", j.Items.Complete, j.Items.Total) }},
	{name: "items", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.Items.Total) }},
	{name: "pending", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.Items.Pending) }},
	{name: "complete", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.Items.Complete) }},
	{name: "failed", right: true, text: func(j api.Job) string { return strconv.Itoa(j.Items.Failed) }},
	{name: "killed", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.Items.Killed) }},
	{name: "blocked", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.Items.Blocked) }},
	{name: "retrywork", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.RetryWork) }},
	{name: "reason", text: func(j api.Job) string { return j.Reason }},
	{name: "submitted_at", extra: true, text: func(j api.Job) string { return moment(&j.SubmittedAt) }},
	{name: "started_at", extra: true, text: func(j api.Job) string { return moment(j.StartedAt) }},
	{name: "finished_at", extra: true, text: func(j api.Job) string { return moment(j.FinishedAt) }},
	{name: "mean_item", extra: true, right: true, text: func(j api.Job) string { return secondsOrNone(j.MeanItemSeconds) }},
	{name: "estimated_item", extra: true, right: true, text: func(j api.Job) string { return secondsOrNone(j.EstimatedItem) }},
	{name: "timelimit", extra: true, right: true, text: func(j api.Job) string { return limitText(j.TimeLimit) }},
	{name: "agendatimelimit", extra: true, right: true, text: func(j api.Job) string { return limitText(j.AgendaTimeLimit) }},
	{name: "need", extra: true, right: true, text: func(j api.Job) string { return memoryText(j.Memory.Need) }},
	{name: "requested", extra: true, right: true, text: func(j api.Job) string {
		if j.Memory.Requested == nil {
			return ""
		}
		return memoryText(*j.Memory.Requested)
	}},
	{name: "largest_peak", extra: true, right: true, text: func(j api.Job) string { return memoryText(j.Memory.LargestPeak) }},
	{name: "memory", extra: true, text: func(j api.Job) string { return learnedText(j.Memory) }},
	{name: "reservations", extra: true, text: func(j api.Job) string { return j.Reservations }},
	{name: "requirements", extra: true, text: func(j api.Job) string { return j.Requirements }},
	{name: "hosts", extra: true, text: func(j api.Job) string { return strings.Join(j.Hosts, ",") }},
	{name: "omithosts", extra: true, text: func(j api.Job) string { return strings.Join(j.OmitHosts, ",") }},
	{name: "groups", extra: true, text: func(j api.Job) string { return strings.Join(j.Groups, ",") }},
	{name: "omitgroups", extra: true, text: func(j api.Job) string { return strings.Join(j.OmitGroups, ",") }},
	{name: "restrictions", extra: true, text: func(j api.Job) string { return j.Restrictions }},
	{name: "hostorder", extra: true, text: func(j api.Job) string { return j.HostOrder }},
	{name: "flags", extra: true, text: func(j api.Job) string { return strings.Join(j.Flags, ",") }},
	{name: "dependency", extra: true, text: func(j api.Job) string { return j.Dependency }},
	{name: "cwd", extra: true, text: func(j api.Job) string { return j.Cwd }},
	{name: "command", extra: true, text: func(j api.Job) string { return strings.Join(j.Command, " ") }},
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
func tagColumn(n int) column[api.Job] {
	name := facts.TagNames[n]
	return column[api.Job]{name: name, extra: true, text: func(j api.Job) string { return j.Tags[name] }}
}
