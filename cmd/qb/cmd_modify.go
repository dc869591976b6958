package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/supervisor/job/facts"
)

// modifyOrders are the orders that qbmodify can give to the jobs that it changed, each with the help of its option,
// which is q and its name.
var modifyOrders = []struct{ name, help string }{
	{"interrupt", "then stop the jobs' running items; they start again with what was changed"},
	{"preempt", "then end the jobs' instances after their current item; the next ones start with what was changed"},
	{"block", "then stop the jobs at once and hold them until qbunblock"},
}

func newModifyCommand() *cobra.Command {
	var choice jobChoice
	var results output.Results
	cmd := &cobra.Command{
		Use: "modify JOB…|0", Short: "Change unfinished jobs; 0 means all of yours",
		Long: "Change unfinished jobs; 0 means all of yours. Options without an m choose among your jobs, or with ids among those;\n" +
			"-user all chooses among everybody's.",
		Example: `  qbmodify -mmax_cpus 80 12
  qbmodify -mpriority 3 -mname hero 12 13
  qbmodify -mcpus 2 -name 'comp*' -priority 9999
  qbmodify -mreservations host.memory=8GiB -qinterrupt 12`,
		RunE: func(cmd *cobra.Command, words []string) error {
			return results.Flush(cmd.OutOrStdout(), modify(cmd, words, &choice, &results))
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	for i := range facts.Attributes {
		attributeOption(changeOption).bind(f, &facts.Attributes[i])
	}
	for _, o := range modifyOrders {
		f.Bool("q"+o.name, false, o.help)
	}
	choice.Bind(f)
	results.Bind(f)
	bindRepeat(cmd)
	return cmd
}

// changedText says what the attributes of a job were, and are now.
func changedText(job int64, changes []api.Change) string {
	if len(changes) == 0 {
		return fmt.Sprintf("job %d had these values already", job)
	}
	var parts []string
	for _, c := range changes {
		if c.From == "" && c.To == "" {
			parts = append(parts, c.Name+" was changed")
			continue
		}
		parts = append(parts, fmt.Sprintf("%s was %s, is now %s", c.Name, valueText(c.From), valueText(c.To)))
	}
	return fmt.Sprintf("job %d: %s", job, strings.Join(parts, "; "))
}

// longestValue is how many characters of a value a remark shows.
const longestValue = 80

func valueText(value string) string {
	if r := []rune(value); len(r) > longestValue {
		return string(r[:longestValue]) + "…"
	}
	return cmp.Or(value, "empty")
}

// orderAfter is the order to give after the change; empty: none.
func orderAfter(cmd *cobra.Command) (string, error) {
	name := ""
	for _, o := range modifyOrders {
		if on, _ := cmd.Flags().GetBool("q" + o.name); !on {
			continue
		}
		if name != "" {
			return "", api.Errorf(api.KindUsage, "-q%s and -q%s exclude each other; give one of them", name, o.name)
		}
		name = o.name
	}
	return name, nil
}

// nothingToChange says of the options that are given that they change no attribute, and which ones would.
func nothingToChange(cmd *cobra.Command) error {
	why := ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		option, now := "-"+f.Name, "only chooses which jobs to change"
		switch {
		case why != "":
			return
		case slices.ContainsFunc(modifyOrders, func(o struct{ name, help string }) bool { return "q"+o.name == f.Name }):
			now = "acts on jobs after a change, and none is asked for"
		case cmd.Flags().Lookup("m"+f.Name) != nil:
			now += fmt.Sprintf("; to change the %s, write -m%s", f.Name, f.Name)
		case !choosesJobs(f.Name):
			return
		}
		why = option + " " + now
	})
	if why == "" {
		why = "no option names an attribute to change"
	}
	return api.Errorf(api.KindUsage,
		"nothing to change: %s; options that change begin with m, such as -mpriority 5 (%s -h lists all)", why,
		commandline.TypedName(cmd))
}

func modify(cmd *cobra.Command, words []string, choice *jobChoice, results *output.Results) error {
	if err := cmp.Or(wantJobs(words, choice), results.Check()); err != nil {
		return err
	}
	var req api.ModifyRequest
	given, err := attributeOption(changeOption).give(cmd.Flags(), &req)
	if err != nil {
		return err
	}
	if !given {
		return nothingToChange(cmd)
	}
	then, err := orderAfter(cmd)
	if err != nil {
		return err
	}
	return eachJob(cmd, words, unfinishedStates, choice, func(c *client, t target) (int, error) {
		if t.part() {
			return 0, api.Errorf(api.KindUsage, "%s: only whole jobs can be modified; give the id %d", output.Escape(t.word),
				t.job)
		}
		var reply api.SubmitReply
		if err := c.Change(cmd.Context(), t.word, api.Modify, jobParam(t.job), req, &reply); err != nil {
			return 0, err
		}
		if err := results.Add(cmd.OutOrStdout(), output.Result{Job: t.job, Action: "modify", Affected: 1},
			fmt.Sprint(t.job)); err != nil {
			return 0, err
		}
		if output.IsTerminal(cmd.ErrOrStderr()) { // a script gets nothing that it did not ask for
			remark(cmd, []string{changedText(t.job, reply.Changed)})
		}
		remark(cmd, reply.Remarks)
		if then == "" {
			return 1, nil
		}
		_, err := order(cmd, c, results, wholeJob(then), t, t.word+"/"+then)
		return 1, err // also if there was nothing to stop: the job is changed
	})
}
