package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"qb/api"
	"qb/cmd/qb/output"
)

// summaryTable is one cross table: rows by what the jobs have alike, columns by state.
type summaryTable struct {
	option, by, of string
	key            func(api.Job) string
}

// summaryRowKinds are what rows can go by, with the letters of Qube's options.
var summaryRowKinds = []struct {
	letters, name string
	key           func(api.Job) string
}{
	{"p", "priority", func(j api.Job) string { return strconv.Itoa(j.Priority) }},
	{"c", "cluster", func(j api.Job) string { return j.Cluster }},
	{"u", "user", func(j api.Job) string { return j.User }},
	{"g", "process group", func(j api.Job) string { return strconv.FormatInt(j.PGrp, 10) }},
	{"cp", "cluster and priority", func(j api.Job) string { return j.Cluster + " " + strconv.Itoa(j.Priority) }},
	{"r", "reservations", func(j api.Job) string { return j.Reservations }},
	{"a", "account", func(j api.Job) string { return j.Account }},
	{"t", "type", func(j api.Job) string { return j.Type }},
}

// summaryCounts are what a table can count.
var summaryCounts = map[string]string{"s": "instances", "w": "items"}

// summaryTables are all that there are, in the order of their options in help.
func summaryTables() (all []summaryTable) {
	for _, rows := range summaryRowKinds {
		for _, letter := range []string{"s", "w"} {
			all = append(all, summaryTable{option: rows.letters + "v" + letter, by: rows.name, of: summaryCounts[letter],
				key: rows.key})
		}
	}
	return all
}

// summaryRow is what the jobs of one row add up to.
type summaryRow struct {
	Row       string             `json:"row"`
	Jobs      int                `json:"jobs"`
	Instances api.InstanceCounts `json:"instances"`
	Items     api.ItemCounts     `json:"items"`

	states map[string]int // instances by Qube's states
}

func (r *summaryRow) add(j api.Job) {
	r.addStates(j)
	r.Jobs++
	r.Instances.Primary += j.Instances.Primary
	r.Instances.Secondary += j.Instances.Secondary
	r.Instances.Draining += j.Instances.Draining
	r.Items.Total += j.Items.Total
	r.Items.Pending += j.Items.Pending
	r.Items.Running += j.Items.Running
	r.Items.Complete += j.Items.Complete
	r.Items.Failed += j.Items.Failed
	r.Items.Killed += j.Items.Killed
	r.Items.Blocked += j.Items.Blocked
}

// rows sums the jobs of each row. Rows whose names are numbers are sorted by number, the others by text.
func (t summaryTable) rows(jobs []api.Job) (rows []summaryRow, total summaryRow) {
	at := map[string]int{}
	total = summaryRow{Row: "total", states: map[string]int{}}
	for _, j := range jobs {
		key := cmp.Or(t.key(j), "-")
		n, known := at[key]
		if !known {
			n = len(rows)
			at[key], rows = n, append(rows, summaryRow{Row: key, states: map[string]int{}})
		}
		rows[n].add(j)
		total.add(j)
	}
	slices.SortFunc(rows, func(x, y summaryRow) int {
		a, errA := strconv.Atoi(x.Row)
		b, errB := strconv.Atoi(y.Row)
		if errA == nil && errB == nil {
			return a - b
		}
		return strings.Compare(x.Row, y.Row)
	})
	return rows, total
}

// addStates counts the job's instances as Qube does: the ones that are on hosts, and the ones that its cpus still lack.
func (r *summaryRow) addStates(j api.Job) {
	present, absent := "running", "pending"
	switch j.Status {
	case "suspended":
		present, absent = "suspended", "suspended"
	case "blocked":
		absent = "blocked"
	}
	on := j.Instances.Primary + j.Instances.Secondary + j.Instances.Draining
	off := max(0, min(j.CPUs, j.Items.Pending+j.Items.Running+j.Items.Blocked)-on)
	r.states[present] += on
	r.states[absent] += off
	r.states["total"] += on + off
}

// heading names the table.
func (t summaryTable) heading(long bool) string {
	if !long {
		return t.of + " by " + t.by
	}
	name := strings.ReplaceAll(strings.ReplaceAll(t.by, "process group", "pgrp"), " and ", "")
	return "Title: " + name + "V" + map[string]string{"instances": "status", "items": "work"}[t.of]
}

// summaryLongStates are the columns of Qube's long form.
var summaryLongStates = []string{"badlogin", "blocked", "complete", "failed", "killed", "pending", "running",
	"suspended", "unknown", "waiting", "total"}

// longColumns are the columns of Qube's long form.
func (t summaryTable) longColumns() []output.Column[summaryRow] {
	all := []output.Column[summaryRow]{{Name: "row"}}
	for _, name := range summaryLongStates {
		all = append(all, output.Column[summaryRow]{Name: name, Right: true, Text: func(r summaryRow) string {
			if t.of != summaryCounts["w"] {
				return strconv.Itoa(r.states[name])
			}
			return strconv.Itoa(map[string]int{"blocked": r.Items.Blocked, "complete": r.Items.Complete,
				"failed": r.Items.Failed, "killed": r.Items.Killed,
				"pending": r.Items.Pending, "running": r.Items.Running, "total": r.Items.Total}[name])
		}})
	}
	return all
}

// columns are the columns for what the table counts: instances or items.
func (t summaryTable) columns() []output.Column[summaryRow] {
	all := []output.Column[summaryRow]{{Name: "row"}, {Name: "jobs", Right: true}}
	names := []string{"primary", "secondary", "draining"}
	if t.of == summaryCounts["w"] {
		names = []string{"blocked", "complete", "failed", "killed", "pending", "running", "total"}
	}
	for _, name := range names {
		all = append(all, output.Column[summaryRow]{Name: name, Member: t.of + "." + name, Right: true})
	}
	return all
}
