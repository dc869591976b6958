package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/lists"
)

var hostsToChoose = []message.HostView{
	{HostFacts: facts.HostFacts{ID: "up", Cluster: "/show/a", Groups: []string{"gpu", "x"}, Slots: 8, Memory: 8 << 30, Resources: map[string]int{"gpus": 2}}, State: "up", Used: 6, Available: 6 << 30},
	{HostFacts: facts.HostFacts{ID: "locked", Cluster: "/show", Slots: 4, Memory: 4 << 30}, State: "locked", Available: 1 << 30},
	{HostFacts: facts.HostFacts{ID: "lost", Cluster: "/", Groups: []string{"gpu"}}, State: "lost"},
	{HostFacts: facts.HostFacts{ID: "gone", Cluster: `/a"b`}, State: "unreachable"},
	{HostFacts: facts.HostFacts{ID: "new", Cluster: "/"}, State: "pending"},
}

func TestHostChoice(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"", "up locked lost gone new"},
		{"--down", "lost gone"},
		{"--active", "up locked"},
		{"--active --down", "up locked lost gone"},
		{"--cluster /show", "locked"},
		{"--cluster /show*", "up locked"},
		{`--cluster /a"b`, "gone"},
		{"--group gpu", "up lost"},
		{"--group gpu --active", "up"},
		{"--resources host.memory.avail>=4GiB", "up"},
		{"--resources host.memory.avail>=4000", "up"},
		{"--resources host.processors.avail>1", "up locked"},
		{"--resources host.gpus=2", "up"},
		{"--resources host.gpus=2||host.gpus=0 --active", "up locked"},
		{"--resources host.groups", "expression: "},
		{"--resources host.wings=2", "expression: "},
		{"--cluster ~(", "expression: "},
	} {
		var o hostChoice
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.Bind(flags)
		if err := flags.Parse(strings.Fields(c.words)); err != nil {
			t.Fatal(err)
		}
		if o.Given() != (c.words != "") {
			t.Errorf("%q: Given says %v", c.words, o.Given())
		}
		filter, err := lists.Hosts.Filter(o.Expression())
		if err != nil {
			if !strings.HasPrefix(err.Error(), c.want) || !strings.HasPrefix(c.want, "expression") {
				t.Errorf("%q: %v", c.words, err)
			}
			continue
		}
		var names []string
		for n := range hostsToChoose {
			if h := &hostsToChoose[n]; filter.Passes(lists.Hosts.Lookup(h)) {
				names = append(names, string(h.ID))
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%q: %s, want %s", c.words, got, c.want)
		}
	}
}
