package main

import (
	"strings"
	"testing"

	"qb/api"
)

// Each column has a member, and each row adds up what its jobs have.
func TestSummaryColumns(t *testing.T) {
	t.Parallel()
	for _, c := range statsColumns(strings.Split("day,user,account,cluster,host,kind,class,prod_show", ",")) {
		c.Of(api.StatsRow{}) // panics without a member
	}
	jobs := []api.Job{
		{ID: 1, Priority: 12, User: "ana", Instances: api.InstanceCounts{Primary: 2, Secondary: 1}, Items: api.ItemCounts{Total: 5, Pending: 2, Running: 3}},
		{ID: 2, Priority: 7, User: "ana", Items: api.ItemCounts{Total: 2, Blocked: 2}},
	}
	for _, table := range summaryTables() {
		rows, total := table.rows(jobs)
		if total.Jobs != 2 || total.Items.Total != 7 || total.Instances.Primary != 2 {
			t.Errorf("-%s: the total is %+v", table.option, total)
		}
		for _, c := range table.columns() {
			c.Of(rows[0])
		}
		if table.option == "pvw" && (rows[0].Row != "7" || rows[1].Row != "12") {
			t.Errorf("-pvw: the rows are %q and %q, want numbers in their order", rows[0].Row, rows[1].Row)
		}
		if table.option == "uvs" && (len(rows) != 1 || rows[0].Jobs != 2) {
			t.Errorf("-uvs: %+v", rows)
		}
	}
}

func TestShortenRows(t *testing.T) {
	rows := []summaryRow{{Row: "/show/séq/shot"}, {Row: "/a"}}
	shortenRows(rows, 8)
	if rows[0].Row != "séq/shot" || rows[1].Row != "/a" {
		t.Errorf("%q and %q", rows[0].Row, rows[1].Row)
	}
	if shortenRows(rows, 0); rows[0].Row != "séq/shot" {
		t.Errorf("0 leaves %q", rows[0].Row)
	}
}

// Qube's states of instances: what runs, and what cpus and items still ask for.
func TestLongSummary(t *testing.T) {
	pvs := summaryTables()[0]
	rows, total := pvs.rows([]api.Job{
		{Priority: 5, Status: "running", CPUs: 4, Instances: api.InstanceCounts{Primary: 2, Secondary: 0}, Items: api.ItemCounts{Total: 9, Pending: 5, Running: 2, Complete: 2}},
		{Priority: 5, Status: "blocked", CPUs: 3, Items: api.ItemCounts{Total: 1, Blocked: 1}},
		{Priority: 9, Status: "suspended", CPUs: 2, Instances: api.InstanceCounts{Primary: 1}, Items: api.ItemCounts{Total: 2, Pending: 1, Running: 1}},
	})
	line := func(r summaryRow) (text string) {
		for _, c := range pvs.longColumns()[1:] {
			text += c.Text(r) + " "
		}
		return text
	}
	for n, want := range []string{"0 1 0 0 0 2 2 0 0 0 5 ", "0 0 0 0 0 0 0 2 0 0 2 "} {
		if got := line(rows[n]); got != want {
			t.Errorf("row %d: %s, want %s", n, got, want)
		}
	}
	if got := line(total); got != "0 1 0 0 0 2 2 2 0 0 7 " || pvs.heading(true) != "Title: priorityVstatus" {
		t.Errorf("%s: %s", pvs.heading(true), got)
	}
}
