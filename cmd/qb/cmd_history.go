package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
)

// historyPage is how many lines are shown at a time, historyChunk how many -all asks for at once.
const historyPage, historyChunk = 1000, 10_000

type historyOptions struct {
	list   output.ListOptions
	before string
	all    bool
}

func newHistoryCommand() *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use: "history JOB", Aliases: []string{"hist"}, Short: "Show the history of a job, oldest first",
		Args: commandline.WantArgs(1, 1, "job id"),
		Long: fmt.Sprintf("Show the newest %d lines of the history of a job, oldest first.", historyPage),
		RunE: func(cmd *cobra.Command, words []string) error {
			id, err := jobID(words[0])
			if err != nil {
				return err
			}
			if o.all && o.before != "" {
				return api.Errorf(api.KindUsage, "-all and -before: give one of them")
			}
			return listOf(cmd, fmt.Sprintf("nothing was done to job %d after its submission, or no line is before that of -before", id), o.list, eventColumns, func(c *client, add func(...api.Event) error) error { return o.show(c, id, add) })
		},
	}
	cmd.Flags().StringVar(&o.before, "before", "", "show the lines before the one with this `ID`")
	cmd.Flags().BoolVar(&o.all, "all", false, "show all lines")
	o.list.Bind(cmd.Flags())
	return cmd
}

// show adds the lines that are asked for, and says how many there are before them.
func (o *historyOptions) show(c *client, job int64, add func(...api.Event) error) error {
	params := jobParam(job)
	if o.all {
		params["after"] = "0.0.0.0"
		return pages[api.Event]{endpoint: api.History, params: params, size: historyChunk,
			next: func(last api.Event) (name, at string) {
				return "after", last.ID
			}}.each(c.cmd.Context(), c, add)
	}
	params["limit"], params["before"] = strconv.Itoa(historyPage), o.before
	var events []api.Event
	page := api.Page{Body: &events}
	if err := c.Send(c.cmd.Context(), api.History, params, nil, &page); err != nil {
		return err
	}
	if earlier := page.Header.Get(api.EarlierHeader); earlier != "0" && len(events) > 0 {
		fmt.Fprintf(c.cmd.ErrOrStderr(),
			"%s earlier lines are not shown; -before %s shows the last of them, -all shows everything\n", earlier, events[0].ID)
	}
	return add(events...)
}

var eventColumns = []output.Column[api.Event]{
	{Name: "id", Extra: true},
	{Name: "at"},
	{Name: "type"},
	{Name: "job", Extra: true},
	{Name: "item"},
	{Name: "instance"},
	{Name: "host"},
	{Name: "cause"},
}
