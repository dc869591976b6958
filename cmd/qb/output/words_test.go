package output

import (
	"testing"

	"qb/api"
)

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		Running(api.InstanceCounts{Primary: 2, Secondary: 3}):                           "2+3",
		Running(api.InstanceCounts{Primary: 2, Secondary: 3, Draining: 1}):              "2+3-1",
		JobsOn(api.Host{Instances: []api.HostInstance{{Job: 12}, {Job: 7}, {Job: 12}}}): "7×1 12×2",
		JobsOn(api.Host{}): "",
		HostRemark(api.Host{Remark: "a", Claims: []api.HostClaim{{Text: "b"}}}): "a; b",
		RemarkStyle(api.Host{Remark: "kept"}).Render("x"):                       StatusStyle("locked").Render("x"),
		RemarkStyle(api.Host{}).Render("x"):                                     "x",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
