package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/supervisor/job/facts"
)

// whatIfOptions are a change to try.
type whatIfOptions struct {
	change map[string]*string // by parameter
	list   output.ListOptions
}

const whatIfLong = `Ask what changing JOB or locking hosts would do: which jobs would gain and lose instances, which items would
stop, and how much work they would lose. The supervisor plans a copy of the farm, as it is now; nothing is
changed. qbsub -whatif asks the same of a submission.`

// newWhatIfCommand is qb whatif.
func newWhatIfCommand() *cobra.Command {
	o := whatIfOptions{change: map[string]*string{}}
	cmd := &cobra.Command{
		Use: "whatif [JOB]", Short: "Ask what a change would start and stop, without making it", Long: whatIfLong,
		Example: "  qb whatif -priority 50 12\n  qb whatif -max_cpus 10 12\n  qb whatif -lock rn0301,rn0302",
		Args:    commandline.WantArgs(0, 1, "job"),
		RunE:    func(cmd *cobra.Command, words []string) error { return o.run(cmd, words) },
	}
	f := cmd.Flags()
	for _, option := range [][2]string{
		{"priority", "try the job with priority `N`; 1 is the best"}, {"cpus", "try it with `N` primary instances"},
		{"max_cpus", "try it with at most `N` instances; 0: no secondaries; \"*\": the site's limit"}, {"cluster", "try it in cluster `PATH`"},
		{"lock", "try to lock `HOSTS`, separated by commas; what runs there goes on"},
	} {
		o.change[option[0]] = f.String(option[0], "", option[1])
	}
	f.BoolVar(&o.list.JSON, "json", false, "print the answer as a JSON array of one object")
	f.BoolVar(&o.list.XML, "xml", false,
		"print the answer as XML: a list of one object with the members of -json as elements")
	return cmd
}

func (o *whatIfOptions) run(cmd *cobra.Command, words []string) error {
	params, ofJob := api.Params{}, false
	for name, value := range o.change {
		if *value != "" {
			params[name] = *value
			ofJob = ofJob || name != "lock"
		}
	}
	switch {
	case len(params) == 0:
		return api.Errorf(api.KindUsage,
			"nothing to try: give a job with -priority, -cpus, -max_cpus or -cluster, or -lock HOSTS")
	case ofJob && len(words) == 0:
		return api.Errorf(api.KindUsage, "give the job that -priority, -cpus, -max_cpus and -cluster are to change")
	case !ofJob && len(words) > 0:
		return api.Errorf(api.KindUsage, "give what to change of job %s: -priority, -cpus, -max_cpus or -cluster",
			output.Escape(words[0]))
	}
	if ofJob {
		if _, err := jobID(words[0]); err != nil {
			return err
		}
		params["job"] = words[0]
	}
	if width, err := strconv.Atoi(params["max_cpus"]); err == nil && width < facts.NoLimit {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: max_cpus %s\n", commandline.TypedName(cmd), facts.NoLimitRemark(width))
	}
	reply, err := ask[api.WhatIfReply](cmd, api.WhatIf, params, nil)
	if err != nil {
		return err
	}
	return printWhatIf(cmd.OutOrStdout(), o.list, reply, &reply, nil)
}
