package qube

import (
	_ "embed" // the table
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed settings.tsv
var settingsTable string

// Equivalent is what qb does about a setting of Qube's that it does not have under that name.
type Equivalent struct {
	Setting string // of qb, that takes its value; "" if it has no effect
	Note    string
}

var knownSettings = sync.OnceValue(func() map[string]Equivalent {
	all := map[string]Equivalent{}
	for line := range strings.Lines(settingsTable) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(fields) != 3 {
			continue
		}
		all[fields[0]] = Equivalent{strings.TrimPrefix(fields[1], "-"), fields[2]}
	}
	return all
})

// Setting says what qb does about a setting of Qube's; false for a setting that is not in the table.
func Setting(name string) (Equivalent, bool) {
	all := knownSettings()
	if known, ok := all[name]; ok {
		return known, true
	}
	prefix, _, _ := strings.Cut(name, "_")
	known, ok := all[prefix+"_*"]
	return known, ok
}

// Settings are the names of the settings in the table.
func Settings() (names []string) { return slices.Sorted(maps.Keys(knownSettings())) }

// Value is what qb writes for the value of a setting of Qube's, by Qube's name of it. A note says what changed in
// meaning; qb has nothing like a value for which ok is false.
func Value(name, value string) (written, note string, ok bool) {
	switch name {
	case "supervisor_port":
		return "127.0.0.1:" + value, "", true
	case "proxy_execution_mode":
		return swap(value, map[string]string{"user": "owner", "proxy": "agent"})
	case "supervisor_preempt_policy":
		if value == "mixed" {
			return "passive", "qb has no mixed preemption; items end before their instance is preempted", true
		}
	case "supervisor_queue_algorithm", "supervisor_queue_library":
		return queueAlgorithm(value)
	case "worker_resources":
		return hostPairs(value, number)
	case "worker_properties":
		return hostPairs(value, strconv.Quote)
	}
	return value, "", true
}

func swap(value string, values map[string]string) (string, string, bool) {
	to, ok := values[value]
	return to, "", ok
}

// queueAlgorithm takes the first internal algorithm of a list such as Perl=/x.pl,Internal=cluster.
func queueAlgorithm(value string) (written, note string, ok bool) {
	for one := range strings.SplitSeq(value, ",") {
		binding, library, named := strings.Cut(strings.TrimSpace(one), "=")
		switch {
		case !named:
			library = binding
		case !strings.EqualFold(binding, "internal"):
			note = "qb has no queuing plug-ins; its own order is used"
			continue
		}
		if library == "queue" {
			return "priority", "qb has no order by age alone; of jobs with equal priority the oldest goes first", true
		}
		return library, note, true
	}
	return "", "", false
}

// hostPairs makes a table in TOML of pairs such as host.maya=1, whose names have no host. in qb.
func hostPairs(value string, write func(string) string) (written, note string, ok bool) {
	var members []string
	for pair := range strings.SplitSeq(value, ",") {
		name, amount, _ := strings.Cut(pair, "=")
		name, amount = strings.TrimSpace(name), strings.TrimSpace(amount)
		class, short, dotted := strings.Cut(name, ".")
		switch {
		case name == "":
		case !dotted || class == "scoped":
			members = append(members, strconv.Quote(name)+" = "+write(amount))
		case class == "host":
			members = append(members, strconv.Quote(short)+" = "+write(amount))
		default:
			note = "qb counts no " + class + " resources by host: " + name + " is left out"
		}
	}
	return "{" + strings.Join(members, ", ") + "}", note, true
}

// number is a number as TOML writes it, or a text.
func number(s string) string {
	if n, err := strconv.Atoi(s); err == nil {
		return strconv.Itoa(n)
	}
	return strconv.Quote(s)
}
