package main

import (
	"slices"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
)

// commandGroups are the parts of `qb help`, in its order.
var commandGroups = []struct {
	title    string
	commands []string
}{
	{"Start here", []string{"farm", "sub", "jobs", "items", "out", "err", "explain", "retry", "kill", "watch", "open"}},
	{"Jobs", []string{"modify", "block", "unblock", "suspend", "resume", "wait", "history", "tree", "archive", "remove",
		"top", "bottom", "joborder",
		"whatif", "profile", "summary", "openjd", "type"}},
	{"Items and instances", []string{"instances", "requeue", "redo", "complete", "fail", "interrupt", "preempt", "migrate",
		"retire", "shove", "work"}},
	{"Hosts and resources", []string{"hosts", "lock", "unlock", "worker", "resources", "updateresource"}},
	{"People", []string{"login", "logout", "users", "share", "stats"}},
	{"The farm", []string{"ping", "supervisor", "admin", "config", "configfile", "ca", "backup", "restore", "audit",
		"snapshot", "plan", "bench",
		"completion"}},
}

// groupCommands gives each command its part.
func groupCommands(root *cobra.Command) {
	ids := map[string]string{}
	for _, g := range commandGroups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, name := range g.commands {
			ids[name] = g.title
		}
	}
	for _, cmd := range root.Commands() {
		cmd.GroupID = ids[cmd.Name()]
	}
}

// leftOut refuses a command that this program is without, as it is the client build.
func leftOut(root *cobra.Command, args []string) error {
	if full.commands != nil || len(args) == 0 || commandline.Child(root, args[0]) != nil {
		return nil
	}
	for _, g := range commandGroups {
		if slices.Contains(g.commands, args[0]) {
			return api.Errorf(api.KindUsage,
				"this program has only the commands that ask a farm, and qb %s runs or repairs one: it is a command of the whole qb", args[0])
		}
	}
	return nil
}
