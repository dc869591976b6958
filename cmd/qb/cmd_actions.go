package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/pause"
	"qb/supervisor/job/facts"
)

// unaffected says why an action changed nothing of a job.
type unaffected string

func (u unaffected) Error() string { return string(u) }

// eachJob does something to each job named or chosen; 0 means all of the caller's. Without a state in the choice, the
// ones that 0 and options stand for are in the states given. It goes on after a refusal, says each, and ends with the
// first one's exit code. That no job was affected is a refusal.
func eachJob(cmd *cobra.Command, words, states []string, choice *jobChoice,
	do func(*client, target) (int, error)) error {
	action := cmd.Name()
	targets, all, err := parseTargets(words)
	if err != nil {
		return err
	}
	c := connect(cmd)
	if err := c.found(); err != nil {
		return err
	}
	if len(words) == 0 || choice.Given() {
		all = true
		if targets, err = chosenJobs(cmd, c, choice, states, targets); err != nil {
			return err
		}
	} else if all {
		if targets, err = c.passing(cmd.Context(), jobFilter{states: states, own: true}, nil); err != nil {
			return err
		}
	}
	affected, failed, unchanged := 0, error(nil), []string(nil)
	for _, t := range targets {
		n, err := do(c, t)
		affected += n
		if err == nil {
			continue
		}
		if why, ok := errors.AsType[unaffected](err); ok {
			unchanged = append(unchanged, string(why))
			continue
		}
		if unavailable(err) || errors.Is(err, context.Canceled) {
			return err
		}
		if failed == nil {
			failed = err
		} else {
			fmt.Fprintln(cmd.ErrOrStderr(), commandline.TypedName(cmd)+": "+err.Error())
		}
	}
	switch {
	case all && failed == nil && affected == 0:
		unchanged = []string{"nothing affected: you have no job for " + action + ", which needs " +
			facts.Action(action).Needs()}
	case all:
		unchanged = nil
	}
	for n, text := range unchanged {
		if failed == nil && affected == 0 && n == len(unchanged)-1 {
			return api.Errorf(api.KindConflict, "%s", output.Escape(text))
		}
		fmt.Fprintln(cmd.ErrOrStderr(), commandline.TypedName(cmd)+": "+output.Escape(text))
	}
	return failed
}

// passing finds the jobs that pass a filter, of those named if some are.
func (c *client) passing(ctx context.Context, f jobFilter, named []target) (found []target, err error) {
	of := map[int64][]target{} // several words may name items of one job
	for _, t := range named {
		if of[t.job] == nil {
			f.ids = append(f.ids, t.job)
		}
		of[t.job] = append(of[t.job], t)
	}
	err = c.eachJob(ctx, f, func(jobs ...api.Job) error {
		for _, job := range jobs {
			targets := of[job.ID]
			if targets == nil {
				targets = []target{{word: strconv.FormatInt(job.ID, 10), job: job.ID}}
			}
			found = append(found, targets...)
		}
		return nil
	})
	return found, err
}

// wantJobs refuses a command that says of no job that it means it.
func wantJobs(words []string, choice *jobChoice) error {
	if len(words) == 0 && !choice.Given() {
		return api.Errorf(api.KindUsage,
			"job id is missing: give ids, 0 for all of your jobs, or options that choose jobs, such as -name")
	}
	return nil
}

// manyJobs is how many jobs a person at a terminal is asked about before something is done to them.
const manyJobs = 100

// chosenJobs finds the jobs that pass the options, of those named if some are. It asks before something is done to
// many.
func chosenJobs(cmd *cobra.Command, c *client, choice *jobChoice, states []string, named []target) ([]target, error) {
	f := chosenBy(choice, len(named) == 0)
	if len(f.states) == 0 && len(named) == 0 {
		f.states = states
	}
	found, err := c.passing(cmd.Context(), f, named)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, api.Errorf(api.KindConflict, "nothing affected: no job passes the filter; %s needs %s", cmd.Name(),
			facts.Action(cmd.Name()).Needs())
	case len(found) > manyJobs && output.IsTerminal(cmd.OutOrStdout()) &&
		!confirmed(cmd, fmt.Sprintf("%s %d jobs?", cmd.Name(), len(found))):
		return nil, api.Errorf(api.KindConflict, "nothing was done to the %d jobs", len(found))
	}
	return found, nil
}

// confirmed asks a question on standard error and reads y or yes from standard input.
func confirmed(cmd *cobra.Command, question string) bool {
	fmt.Fprint(cmd.ErrOrStderr(), question+" [y/N] ")
	answer, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

type action struct {
	name, short string
	states      []string // of the jobs that the id 0 chooses
}

var actions = []action{
	{"kill", "Kill jobs or items; they run again only after a retry", unfinishedStates},
	{"retry", "Run failed and killed items again", append([]string{"running", "pending", "blocked"}, finishedStates...)},
	{"requeue", "Like retry, but leave the job blocked so that it can be modified first", finishedStates},
	{"redo", "Run ended items again, including complete ones", finishedStates},
	{"block", "Stop jobs at once and hold them", unfinishedStates},
	{"unblock", "Release blocked jobs, and items that qb blocked", unfinishedStates},
	{"interrupt", "Stop items at once; they become pending again", unfinishedStates},
	{"preempt", "End instances after their current item", unfinishedStates},
	{"suspend", "Stop the processes of running items where they are, and start nothing more of the jobs; they keep their memory, and their slots unless supervisor_suspend_slots is \"release\"", []string{"running"}},
	{"resume", "Let suspended jobs and items go on", []string{"suspended", "running"}},
	{"migrate", "Stop items at once; they run again on other hosts, and their jobs avoid these for a while",
		unfinishedStates},
	{"retire", "End instances after their item and make their jobs narrower; of a job or items: run what has not begun no more, as complete", unfinishedStates},
	{"shove", "Look again at once for a place for pending items; a missing working folder is tried again",
		[]string{"running", "pending"}},
	{"top", "Put jobs before the others of their cluster and priority: before your own, or as an operator before everybody's", []string{"pending", "running", "blocked"}},
	{"bottom", "Put jobs behind the others of their cluster and priority: behind your own, or as an operator behind everybody's", []string{"pending", "running", "blocked"}},
	{"complete", "Mark items complete without running them; running ones are stopped",
		[]string{"running", "pending", "blocked", "failed", "killed"}},
	{"fail", "Mark unfinished items failed without running them; running ones are stopped", unfinishedStates},
	{"remove", "Remove ended jobs with their history and output", finishedStates},
}

func newActionCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, a := range actions {
		use, items, example := " JOB…|JOB:ITEMS…|JOB.NUMBERS…|0",
			"\nITEMS are item names as qbitems shows them, or ranges: 12:25-29,40. NUMBERS are those of running instances: 12.0-3,7 stands for what\nthese run. Options that begin with -work and -subjob choose items and instances by their state as it is when the order is carried out.", "12:25-29 13"
		if facts.Action(a.name).TakesItems() == nil {
			use, items, example = " JOB…|0", "\nThis command acts on whole jobs.", "12 13"
		}
		var choice jobChoice
		var parts itemChoice
		var results output.Results
		cmd := &cobra.Command{
			Use: a.name + use, Short: a.short,
			Long: a.short + "." + items + " 0 means all of your jobs.\n" +
				"Options choose among your jobs, or with ids among those; -user all chooses among everybody's.",
			Example: fmt.Sprintf("  qb%s 12\n  qb%s %s\n  qb%s -name 'comp*' -expression 'priority > 100'", a.name, a.name,
				example, a.name),
			RunE: func(cmd *cobra.Command, words []string) error {
				states := a.states
				if parts.ByEnd() && len(words) == 0 {
					words = []string{"0"}
					states = withFailures(states)
				}
				if err := cmp.Or(wantJobs(words, &choice), results.Check()); err != nil {
					return err
				}
				if a.name == "top" {
					slices.Reverse(words) // so that the first named comes first
				}
				return results.Flush(cmd.OutOrStdout(), eachJob(cmd, words, states, &choice,
					func(c *client, t target) (int, error) {
						return order(cmd, c, &results, &parts, t, t.word)
					}))
			},
		}
		choice.Bind(cmd.Flags())
		parts.Bind(cmd.Flags(), a.name)
		results.Bind(cmd.Flags())
		bindRepeat(cmd)
		all = append(all, cmd)
	}
	return all
}

// recallFor is how long an order is repeated at least while its outcome is not known: to take up a job of a million
// attempts that ended, the supervisor reads them back first.
const recallFor = time.Minute

// order gives one order and prints how much it changed. The key is its name among the changes of the command.
func order(cmd *cobra.Command, c *client, r *output.Results, parts *itemChoice, t target, key string) (int, error) {
	params, name := jobParam(t.job), parts.Action()
	var reply api.ActionReply
	if name == "remove" {
		if t.part() {
			return 0, api.Errorf(api.KindUsage, "%q names a part of a job; only whole jobs can be removed", t.word)
		}
		if err := c.Change(cmd.Context(), key, api.RemoveJob, params, nil, &reply); err != nil {
			return 0, err
		}
		err := r.Add(cmd.OutOrStdout(), output.Result{Job: t.job, Action: name, Affected: reply.Affected},
			output.Escape(t.word)+": removed")
		return reply.Affected, err
	}
	request, err := parts.Request(output.Escape(t.word), t.items, t.instances)
	if err != nil {
		return 0, err
	}
	params["action"] = name
	c.repeat.limit = max(c.repeat.limit, recallFor)
	if err := c.Change(cmd.Context(), key, api.OrderJob, params, request, &reply); err != nil {
		return 0, err
	}
	affected, why := reply.Affected, strings.Join(reply.Remarks, "; ")
	if reply.Order != 0 {
		remark(cmd, reply.Remarks)
		var err error
		if affected, why, err = follow(cmd, c, name, t, reply); err != nil {
			return 0, err
		}
	}
	if affected == 0 {
		if t.part() {
			why = t.word + ": " + why
		}
		return 0, unaffected(why)
	}
	err = r.Add(cmd.OutOrStdout(), output.Result{Job: t.job, Items: request.Items, Instances: request.Instances,
		Action: name, Affected: affected}, fmt.Sprintf("%s: %s, %d affected", output.Escape(t.word), name, affected))
	return affected, err
}

// follow waits until a large order is carried out, and shows on a terminal how far it has come. Anyone who stops
// waiting does not stop the order. If it affected nothing, why says why.
func follow(cmd *cobra.Command, c *client, name string, t target,
	reply api.ActionReply) (affected int, why string, err error) {
	ctx, out := cmd.Context(), cmd.ErrOrStderr()
	p, affected := poller{client: c, errOut: out}, reply.Affected
	shows := output.IsTerminal(out)
	for {
		var job api.Job
		again, err := p.look(func() error {
			if err := c.Healthy(ctx); err != nil { // only who leads knows of orders under way
				return err
			}
			return c.Send(ctx, api.GetJob, jobParam(t.job), nil, &job)
		})
		if err != nil {
			return 0, "", err
		}
		n := slices.IndexFunc(job.Orders, func(o api.JobOrder) bool { return o.Number == reply.Order })
		switch {
		case again:
		case n < 0: // it was done under an earlier supervisor
			return max(1, affected), "", nil
		default:
			o := job.Orders[n]
			affected = max(affected, o.Affected)
			if shows {
				fmt.Fprintf(out, "\r%s: %s, %d of %d", output.Escape(t.word), name, o.Done, o.Affected)
			}
			if o.State == "done" {
				if shows {
					fmt.Fprint(out, "\r\x1b[K")
				}
				n := job.Instances
				return o.Affected, facts.Action(name).ChangedNothing(facts.JobID(job.ID), job.Status, n.Primary+n.Secondary,
					n.Draining), nil
			}
		}
		if err := pause.For(ctx, lookEvery); err != nil {
			fmt.Fprintf(out, "%s: %s goes on without this command; qbjobs %d shows how far it has come\n", output.Escape(t.word),
				name, t.job)
			return 0, "", err
		}
	}
}
