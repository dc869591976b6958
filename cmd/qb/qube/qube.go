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

// Command answers who types a command of Qube's that qb has not, with or without the qb before it.
func Command(name string) (answer string, found bool) {
	answer, found = answers()[entry{strings.TrimPrefix(name, "qb"), ""}]
	return answer, found
}

// Commands are the names of those commands, without the qb.
func Commands() (names []string) {
	for e := range maps.Keys(answers()) {
		if e.option == "" {
			names = append(names, e.command)
		}
	}
	slices.Sort(names)
	return names
}

// Option answers who types an option of Qube's that a command of qb has not. The beginning of one option is enough.
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
		return begun[0], "these are options of Qube's that qb has not: -" + strings.Join(begun, ", -") + "; write more of it to read what qb has", true
	}
}

// Beginning are the options of Qube's that a command of qb has not and that begin so.
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
	"timesubmit": "submitted_at", "timestart": "started_at", "timecomplete": "finished_at", "todo": "items", "todotally": "pending",
	"cpustally": "running", "prototype": "type", "agenda_timelimit": "agendatimelimit", "package": "command",
}
