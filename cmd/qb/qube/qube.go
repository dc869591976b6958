package qube

import (
	_ "embed" // the table
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed from-qube.tsv
var table string

// entry is a command of qb's and an option, "" for the command itself.
type entry struct{ command, option string }

// answers reads the table once.
var answers = sync.OnceValue(func() map[entry]string {
	all := map[entry]string{}
	for line := range strings.Lines(table) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(fields) != 3 {
			continue
		}
		all[entry{fields[0], fields[1]}] = fields[2]
	}
	return all
})

// Command returns what to type instead of a Qube command that qb lacks. The prefix qb of the name is optional.
func Command(name string) (answer string, found bool) {
	answer, found = answers()[entry{strings.TrimPrefix(name, "qb"), ""}]
	return answer, found
}

// Commands are the names of the Qube commands that qb lacks, without the prefix qb.
func Commands() (names []string) {
	for e := range maps.Keys(answers()) {
		if e.option == "" {
			names = append(names, e.command)
		}
	}
	slices.Sort(names)
	return names
}

// Option returns what to type instead of a Qube option that the command of qb lacks. The name may be the beginning of
// an option if only one begins so.
func Option(command, name string) (option, answer string, found bool) {
	if answer, found = answers()[entry{command, name}]; found && name != "" {
		return name, answer, true
	}
	switch begun := Beginning(command, name); len(begun) {
	case 0:
		return "", "", false
	case 1:
		return begun[0], answers()[entry{command, begun[0]}], true
	default:
		return begun[0], "qb lacks these options of Qube's: -" + strings.Join(begun, ", -") +
			"; write more of it to read what qb has", true
	}
}

// Beginning are the Qube options that the command of qb lacks and that begin with begin.
func Beginning(command, begin string) (names []string) {
	for e := range maps.Keys(answers()) {
		if e.command == command && e.option != "" && begin != "" && strings.HasPrefix(e.option, begin) {
			names = append(names, e.option)
		}
	}
	slices.Sort(names)
	return names
}

// Fields are attributes of a job in Qube, and the columns of qbjobs that show them.
var Fields = map[string]string{
	"timesubmit": "submitted_at", "timestart": "started_at", "timecomplete": "finished_at", "todo": "items",
	"todotally": "pending",
	"cpustally": "running", "prototype": "type", "agenda_timelimit": "agendatimelimit", "package": "command",
}
