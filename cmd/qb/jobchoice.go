package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"qb/cmd/qb/commandline"
	"qb/supervisor/job/facts"
)

// The states of jobs, as options name them, and the ones that stand for several.
var (
	unfinishedStates = []string{"pending", "running", "blocked", "suspended"}
	finishedStates   = []string{"complete", "failed", "killed"}
)

// withFailures filters states: it keeps the ones in which a job may have items that failed or were killed.
func withFailures(states []string) []string {
	return slices.DeleteFunc(slices.Clone(states), func(state string) bool { return state == "complete" })
}

var stateWords = map[string][]string{
	"pending": {"pending"}, "running": {"running"}, "blocked": {"blocked"}, "suspended": {"suspended"},
	"complete": {"complete"}, "failed": {"failed"}, "killed": {"killed"}, "done": finishedStates,
	"active": unfinishedStates,
}

// stateOptions are their options, in the order of help.
var stateOptions = []string{"pending", "running", "blocked", "suspended", "complete", "failed", "killed", "done",
	"active"}

// jobChoiceFields are the options that compare a field of a job, in the order of help. Those of numbers take a comma
// list.
var jobChoiceFields = []struct{ name, doc string }{
	{"name", "only jobs named `NAME`; a * or % matches any letters, ~ begins a regular expression, = a literal name"},
	{"type", "only jobs of `TYPE` cmdline or cmdrange"},
	{"cluster", "only jobs of the cluster `PATH`; /show* takes all that begin so"},
	{"account", "only jobs charged to the account `PATH`"},
	{"priority", "only jobs of priority `N`"},
	{"cpus", "only jobs with `N` primaries"},
	{"pgrp", "only jobs of the process group `N`"},
	{"label", "only jobs with the label `NAME`, a comma list or pattern"},
	{"kind", "only jobs of the kind `NAME`, a comma list or pattern"},
	{"flags", "only jobs with the flags `A,B`"},
	{"pid", "only jobs that belong to the job `N`"},
}

// jobChoice choose jobs. The zero value, bound to no flags, chooses all.
type jobChoice struct {
	User       string // as typed
	values     map[string]*string
	status     string
	expression string
	states     map[string]*bool
}

// Bind declares the options.
func (o *jobChoice) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&o.User, "user", "", "only jobs of user `NAME`, a comma list or pattern; all: of every user; me: yours, as without it")
	flags.StringVar(&o.status, "status", "", "only jobs in these `STATES`, as failed,killed")
	flags.StringVar(&o.expression, "expression", "", "only jobs for which `EXPRESSION` holds: 'priority <= 100 && (status = failed || name = *comp*)'")
	o.values, o.states = map[string]*string{}, map[string]*bool{}
	for _, f := range jobChoiceFields {
		o.values[f.name] = flags.String(f.name, "", f.doc)
		commandline.Once(flags, f.name)
	}
	commandline.Once(flags, "user", "status", "expression")
	flags.StringVar(o.values["type"], "prototype", "", "only jobs of `TYPE`, as -type")
	commandline.Once(flags, "prototype")
	for _, state := range stateOptions {
		o.states[state] = flags.Bool(state, false, "only jobs that are "+state)
	}
}

// choosesJobs says whether an option of this name chooses among jobs.
func choosesJobs(name string) bool {
	var o jobChoice
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.Bind(flags)
	return flags.Lookup(name) != nil
}

// Given says whether any option chooses among jobs.
func (o *jobChoice) Given() bool {
	return o.User != "" || len(o.StateWords()) > 0 || o.Expression() != ""
}

// StateWords are the options of states that are set, and the words of -status, by alphabet.
func (o *jobChoice) StateWords() []string {
	words := map[string]bool{}
	for _, word := range facts.SplitList(o.status) {
		words[word] = true
	}
	for name, set := range o.states {
		if *set {
			words[name] = true
		}
	}
	return slices.Sorted(maps.Keys(words))
}

// States are the states asked for, nil for any. A word that is none is left as it is, for the supervisor to refuse.
func (o *jobChoice) States() (states []string) {
	for _, word := range o.StateWords() {
		if list, ok := stateWords[word]; ok {
			states = append(states, list...)
		} else {
			states = append(states, word)
		}
	}
	return states
}

// Plain is the user if exactly one is meant, without a pattern.
func (o *jobChoice) Plain() string {
	if o.User == "all" || o.User == "me" || isPattern(o.User) || strings.Contains(o.User, ",") {
		return ""
	}
	return o.User
}

// Expression is what the options ask for beside the states and a plain user, "" for nothing.
func (o *jobChoice) Expression() string {
	var parts []string
	if o.User != "all" && o.User != "me" && o.Plain() == "" && o.User != "" {
		parts = append(parts, condition("user", o.User))
	}
	for _, f := range jobChoiceFields {
		if value := o.values[f.name]; value != nil && *value != "" {
			parts = append(parts, condition(f.name, *value))
		}
	}
	if strings.TrimSpace(o.expression) == "" {
		return strings.Join(parts, " and ")
	}
	if len(parts) == 0 {
		return o.expression // alone, so that an error's column is that of what was typed
	}
	return strings.Join(append(parts, "("+o.expression+")"), " and ")
}

// condition compares a field with a value, or with one of a comma list.
func condition(field, value string) string {
	if field == "flags" {
		var all []string
		for _, flag := range strings.Split(value, ",") {
			all = append(all, "flags has "+quotedValue(strings.TrimSpace(flag)))
		}
		return strings.Join(all, " and ")
	}
	if text, exact := strings.CutPrefix(value, "="); exact {
		return field + " = " + quotedValue("~^"+regexp.QuoteMeta(text)+"$")
	}
	if isPattern(value) || !strings.Contains(value, ",") {
		return field + " = " + quotedValue(value)
	}
	return field + " in " + quotedValue(value)
}

func isPattern(value string) bool {
	return strings.HasPrefix(value, "~") || strings.HasPrefix(value, "=") || strings.ContainsAny(value, "*%")
}

func quotedValue(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}
