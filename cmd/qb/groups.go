package main

import "github.com/spf13/cobra"

// commandGroups are the parts of `qb help`, in its order.
var commandGroups = []struct {
	title    string
	commands []string
}{
	{"Start here", []string{"farm", "sub", "jobs", "items", "out", "err", "explain", "retry", "kill", "watch", "open"}},
	{"Jobs", []string{"modify", "block", "unblock", "suspend", "resume", "wait", "history", "tree", "archive", "remove", "top", "bottom", "joborder",
		"whatif", "profile", "summary"}},
	{"Items and instances", []string{"instances", "requeue", "redo", "complete", "fail", "interrupt", "preempt", "migrate", "retire", "shove"}},
	{"Hosts and resources", []string{"hosts", "lock", "unlock", "worker", "resources", "updateresource"}},
	{"People", []string{"login", "logout", "users", "share", "stats"}},
	{"The farm", []string{"ping", "supervisor", "admin", "config", "configfile", "ca", "backup", "restore", "audit", "snapshot", "plan", "bench",
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
