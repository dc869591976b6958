package summary

import (
	"strings"
	"testing"

	"qb/api"
)

// Each column has a member, and each row adds up what its jobs have.
func TestColumnsHaveMembers(t *testing.T) {
	t.Parallel()
	for _, c := range statsColumns(strings.Split("day,user,account,cluster,host,kind,class,prod_show", ",")) {
		c.Of(api.StatsRow{}) // panics without a member
	}
	jobs := []api.Job{
		{ID: 1, Priority: 12, User: "ana", Instances: api.InstanceCounts{Primary: 2, Secondary: 1}, Items: api.ItemCounts{Total: 5, Pending: 2, Running: 3}},
		{ID: 2, Priority: 7, User: "ana", Items: api.ItemCounts{Total: 2, Blocked: 2}},
	}
	for _, table := range tables() {
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

func TestShorten(t *testing.T) {
	rows := []row{{Row: "/show/séq/shot"}, {Row: "/a"}}
	shorten(rows, 8)
	if rows[0].Row != "séq/shot" || rows[1].Row != "/a" {
		t.Errorf("%q and %q", rows[0].Row, rows[1].Row)
	}
	if shorten(rows, 0); rows[0].Row != "séq/shot" {
		t.Errorf("0 leaves %q", rows[0].Row)
	}
}
