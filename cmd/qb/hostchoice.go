package main

import (
	"strings"

	"github.com/spf13/pflag"

	"qb/cmd/qb/commandline"
)

// hostChoice choose hosts. The zero value chooses all.
type hostChoice struct {
	down, active              bool
	cluster, group, resources string
}

// Bind declares the options.
func (o *hostChoice) Bind(flags *pflag.FlagSet) {
	flags.BoolVar(&o.down, "down", false, "only hosts that do not answer: unreachable or lost")
	flags.BoolVar(&o.active, "active", false, "only hosts that answer, locked ones too")
	flags.StringVar(&o.cluster, "cluster", "", "only hosts of the cluster `PATH`; /show* takes all that begin so")
	flags.StringVar(&o.group, "group", "", "only hosts in the group `NAME`")
	flags.StringVar(&o.resources, "resources", "", "only hosts for which `EXPRESSION` holds: 'host.memory.avail >= 4GiB and host.processors > 8'")
	commandline.Once(flags, "cluster", "group", "resources")
}

// Given says whether any option chooses among hosts.
func (o *hostChoice) Given() bool { return *o != hostChoice{} }

// Text is what a chosen host is, for a sentence: "unreachable or lost, in the group gpu".
func (o *hostChoice) Text() string {
	var all []string
	add := func(given bool, text string) {
		if given {
			all = append(all, text)
		}
	}
	add(o.down && !o.active, "unreachable or lost")
	add(o.active && !o.down, "up or locked")
	add(o.active && o.down, "up, locked, unreachable or lost")
	add(o.cluster != "", "in the cluster "+o.cluster)
	add(o.group != "", "in the group "+o.group)
	add(o.resources != "", "such that "+o.resources)
	return strings.Join(all, " and ")
}

// Expression is what the options ask for, in the language of the list of hosts; "" takes all.
func (o *hostChoice) Expression() string {
	var all []string
	const down = `host.state in "unreachable,lost"`
	switch {
	case o.down && o.active:
		all = append(all, `host.state != pending`)
	case o.down:
		all = append(all, down)
	case o.active:
		all = append(all, "not "+down+` and host.state != pending`)
	}
	quoted := func(text string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"` }
	if o.cluster != "" {
		all = append(all, "host.cluster = "+quoted(o.cluster))
	}
	if o.group != "" {
		all = append(all, quoted(o.group)+" in host.groups")
	}
	resources := o.resources
	if strings.TrimSpace(resources) != "" && len(all) > 0 {
		resources = "(" + resources + ")"
	}
	if strings.TrimSpace(resources) != "" {
		all = append([]string{resources}, all...) // first, so that the column of an error is that of what was typed
	}
	return strings.Join(all, " and ")
}
