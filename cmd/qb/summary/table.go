package summary

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"qb/api"
	"qb/cmd/qb/output"
)

// table is one cross table: rows by what the jobs have alike, columns by state.
type table struct {
	option, by, of string
	key            func(api.Job) string
}

// rowKinds are what rows can go by, with the letters of Qube's options.
var rowKinds = []struct {
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

// counted are what a table can count.
var counted = map[string]string{"s": "instances", "w": "items"}

// tables are all that there are, in the order of their options in help.
func tables() (all []table) {
	for _, rows := range rowKinds {
		for _, letter := range []string{"s", "w"} {
			all = append(all, table{option: rows.letters + "v" + letter, by: rows.name, of: counted[letter], key: rows.key})
		}
	}
	return all
}

// row is what the jobs of one row add up to.
type row struct {
	Row       string             `json:"row"`
	Jobs      int                `json:"jobs"`
	Instances api.InstanceCounts `json:"instances"`
	Items     api.ItemCounts     `json:"items"`

	states map[string]int // instances by Qube's states
}

func (r *row) add(j api.Job) {
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

// rows adds the jobs up, by row; numbers are sorted as such.
func (t table) rows(jobs []api.Job) (rows []row, total row) {
	at := map[string]int{}
	total = row{Row: "total", states: map[string]int{}}
	for _, j := range jobs {
		key := cmp.Or(t.key(j), "-")
		n, known := at[key]
		if !known {
			n = len(rows)
			at[key], rows = n, append(rows, row{Row: key, states: map[string]int{}})
		}
		rows[n].add(j)
		total.add(j)
	}
	slices.SortFunc(rows, func(x, y row) int {
		a, errA := strconv.Atoi(x.Row)
		b, errB := strconv.Atoi(y.Row)
		if errA == nil && errB == nil {
			return a - b
		}
		return strings.Compare(x.Row, y.Row)
	})
	return rows, total
}

// addStates counts the job's instances as Qube does: those that are on hosts, and those that its cpus still lack.
func (r *row) addStates(j api.Job) {
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
func (t table) heading(long bool) string {
	if !long {
		return t.of + " by " + t.by
	}
	name := strings.ReplaceAll(strings.ReplaceAll(t.by, "process group", "pgrp"), " and ", "")
	return "Title: " + name + "V" + map[string]string{"instances": "status", "items": "work"}[t.of]
}

// longStates are the columns of Qube's long form.
var longStates = []string{"badlogin", "blocked", "complete", "failed", "killed", "pending", "running", "suspended", "unknown", "waiting", "total"}

// longColumns are those of Qube's long form.
func (t table) longColumns() []output.Column[row] {
	all := []output.Column[row]{{Name: "row"}}
	for _, name := range longStates {
		all = append(all, output.Column[row]{Name: name, Right: true, Text: func(r row) string {
			if t.of != counted["w"] {
				return strconv.Itoa(r.states[name])
			}
			return strconv.Itoa(map[string]int{"blocked": r.Items.Blocked, "complete": r.Items.Complete, "failed": r.Items.Failed, "killed": r.Items.Killed,
				"pending": r.Items.Pending, "running": r.Items.Running, "total": r.Items.Total}[name])
		}})
	}
	return all
}

// columns are those of what the table counts.
func (t table) columns() []output.Column[row] {
	all := []output.Column[row]{{Name: "row"}, {Name: "jobs", Right: true}}
	names := []string{"primary", "secondary", "draining"}
	if t.of == counted["w"] {
		names = []string{"blocked", "complete", "failed", "killed", "pending", "running", "total"}
	}
	for _, name := range names {
		all = append(all, output.Column[row]{Name: name, Member: t.of + "." + name, Right: true})
	}
	return all
}
