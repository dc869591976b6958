package main

import (
	"strings"
	"testing"
	"time"

	"qb/api"
)

// TestInstancesOf: instances come by job and number, with what each column shows.
func TestInstancesOf(t *testing.T) {
	began := time.Now()
	hosts := []api.Host{
		{Name: "a", Instances: []api.HostInstance{{Job: 12, Instance: 10, State: "active", Kind: "primary", Item: "7", Attempt: 1, Slots: 2}, {Job: 3, Instance: 0, State: "suspended", Item: "1"}}},
		{Name: "b", Instances: []api.HostInstance{{Job: 12, Instance: 2, State: "draining", Item: "5", ItemStartedAt: &began}}},
	}
	for _, c := range []struct {
		wanted []int64
		want   string
	}{
		{nil, "3.0 suspended a 1|12.2 draining b 5|12.10 active a 7"},
		{[]int64{3}, "3.0 suspended a 1"},
		{[]int64{4}, ""},
		{[]int64{4, 12}, "12.2 draining b 5|12.10 active a 7"},
	} {
		var rows []string
		for _, i := range instancesOf(hosts, c.wanted) {
			cells := map[string]string{}
			for _, column := range instanceColumns {
				cells[column.Name] = column.Of(i)
			}
			rows = append(rows, strings.Join([]string{cells["instance"], cells["state"], cells["host"], cells["item"]}, " "))
		}
		if got := strings.Join(rows, "|"); got != c.want {
			t.Errorf("of %v the instances are %q, want %q", c.wanted, got, c.want)
		}
	}
}

// TestInstanceWall: the time for which an instance was stopped is no part of what its item has run.
func TestInstanceWall(t *testing.T) {
	began := time.Now().Add(-time.Hour)
	stood := began.Add(10 * time.Minute)
	for want, i := range map[string]instance{
		"":       {},
		"1h00m":  {ItemStartedAt: &began},
		"40m00s": {ItemStartedAt: &began, Suspended: 1200},
		"10m00s": {ItemStartedAt: &began, SuspendedAt: &stood},
		"8m20s":  {ItemStartedAt: &began, SuspendedAt: &stood, Suspended: 100},
	} {
		if got := i.wall(); got != want {
			t.Errorf("%+v: %s, want %s", i, got, want)
		}
	}
}

// TestRollUps: Qube's words for the states of all items and of all instances.
func TestRollUps(t *testing.T) {
	for want, j := range map[string]api.Job{
		"running running":   {Status: "blocked", Items: api.ItemCounts{Running: 1, Pending: 2, Failed: 1}, Instances: api.InstanceCounts{Draining: 1}},
		"running suspended": {Status: "suspended", Items: api.ItemCounts{Running: 1, Pending: 2}, Instances: api.InstanceCounts{Primary: 1}},
		"pending pending":   {Status: "pending", Items: api.ItemCounts{Pending: 1, Complete: 2, Blocked: 1}},
		"blocked blocked":   {Status: "blocked", Items: api.ItemCounts{Blocked: 1, Killed: 2}},
		"killed killed":     {Status: "killed", Items: api.ItemCounts{Killed: 1, Failed: 1, Complete: 1}},
		"failed failed":     {Status: "failed", Items: api.ItemCounts{Failed: 1, Complete: 1}},
		"complete complete": {Status: "complete", Items: api.ItemCounts{Complete: 1}},
		"complete pending":  {Status: "pending", Items: api.ItemCounts{Complete: 1}},
	} {
		if got := agendaStatus(j) + " " + instanceStatus(j); got != want {
			t.Errorf("%+v: %s, want %s", j, got, want)
		}
	}
}
