package main

import (
	"cmp"
	"slices"

	"github.com/spf13/pflag"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/supervisor/job/facts"
)

// itemChoice are the options of an action that choose items (-work) and instances (-subjob) of its jobs. The zero value
// chooses by the words of the command line alone.
type itemChoice struct {
	action       facts.Action
	work, subjob bool
	states       [2]map[string]*bool // of items and of instances, by the end of their option
	host         string              // of their latest attempt
	exit         int                 // its status; -1: any
}

const doneStates = "done" // the name of the ended states that an action takes

// anyExit is no condition on the exit status.
const anyExit = -1

// partKinds are the beginnings of these options, and what they choose among.
var partKinds = [2]struct{ option, things string }{{"work", "items"}, {"subjob", "instances"}}

// wholeJob is an action on what words name, without options.
func wholeJob(action string) *itemChoice {
	return &itemChoice{action: facts.Action(action), exit: anyExit}
}

// Bind declares the options of an action: for each state that it takes, and for what has ended if it takes that.
func (p *itemChoice) Bind(flags *pflag.FlagSet, action string) {
	p.action = facts.Action(action)
	p.exit = anyExit
	if p.action.TakesItems() == nil {
		return
	}
	if p.action == facts.Retry || p.action == facts.Requeue || p.action == facts.Redo {
		flags.StringVar(&p.host, "host", "", "only items whose latest attempt ran on `HOST`; without ids those of all your jobs")
		flags.IntVar(&p.exit, "exit", anyExit, "only items whose latest attempt ended with the exit status `N`; without ids those of all your jobs")
		commandline.Once(flags, "host", "exit")
	}
	flags.BoolVar(&p.work, "work", false, "the numbers given name items, as JOB:ITEMS; of a job alone, all its items")
	flags.BoolVar(&p.subjob, "subjob", false,
		"the numbers given name instances, as JOB.NUMBERS; of a job alone, all its instances")
	for n, kind := range partKinds {
		states := p.takes(n)
		if slices.Contains(states, facts.ItemFailed) && !slices.Contains(states, facts.ItemRunning) {
			states = append(slices.Clone(states), doneStates)
		}
		p.states[n] = map[string]*bool{}
		for _, state := range states {
			p.states[n][state] = flags.Bool(kind.option+state, false, "only "+kind.things+" that are "+state)
		}
	}
}

// Action is the action's name.
func (p *itemChoice) Action() string { return string(p.action) }

// ByEnd says whether items are chosen by where or how their latest attempt ended.
func (p *itemChoice) ByEnd() bool { return p.host != "" || p.exit != anyExit }

// takes are the states that the action takes of items (0) or instances (1).
func (p *itemChoice) takes(n int) []string {
	return [2][]string{p.action.TakesItems(), p.action.TakesInstances()}[n]
}

// chosen are the states whose options are given, in the order of the action's.
func (p *itemChoice) chosen(n int) (states []string) {
	set := func(state string) bool { return p.states[n][state] != nil && *p.states[n][state] }
	for _, state := range p.takes(n) {
		ended := state == facts.ItemComplete || state == facts.ItemFailed || state == facts.ItemKilled
		if set(state) || ended && set(doneStates) {
			states = append(states, state)
		}
	}
	return states
}

// all are the states that stand for all items, or instances, that the action changes by itself: retry leaves complete
// ones.
func (p *itemChoice) all(n int) []string {
	return slices.DeleteFunc(slices.Clone(p.takes(n)), func(state string) bool {
		return state == facts.ItemComplete && p.action == facts.Retry
	})
}

// Request asks for what a word names of a job, as far as the options choose it: items, instances by number, or neither.
func (p *itemChoice) Request(word, items, instances string) (r api.ActionRequest, err error) {
	r.ItemStates, r.InstanceStates = p.chosen(0), p.chosen(1)
	r.Host = p.host
	if p.exit != anyExit {
		r.ExitCode = &p.exit
	}
	switch {
	case p.work && !p.subjob:
		items, instances = cmp.Or(items, instances), ""
	case p.subjob && !p.work:
		items, instances = "", cmp.Or(instances, items)
	}
	r.Items, r.Instances = items, instances
	ofItems, ofInstances := items != "" || p.work && !p.subjob, instances != "" || p.subjob && !p.work
	switch {
	case ofInstances && p.ByEnd():
		return r, api.Errorf(api.KindUsage, "%s: -host and -exit choose among items, and not among instances", word)
	case ofInstances && len(r.ItemStates) > 0:
		return r, api.Errorf(api.KindUsage, "%s: -work%s chooses among items, and not among instances; -subjob%s does", word,
			r.ItemStates[0], r.ItemStates[0])
	case ofItems && len(r.InstanceStates) > 0:
		return r, api.Errorf(api.KindUsage, "%s: -subjob%s chooses among instances, and not among items; -work%s does", word,
			r.InstanceStates[0], r.InstanceStates[0])
	case ofItems && items == "" && len(r.ItemStates) == 0:
		r.ItemStates = p.all(0)
	case ofInstances && instances == "" && len(r.InstanceStates) == 0:
		r.InstanceStates = p.all(1)
	}
	return r, nil
}
