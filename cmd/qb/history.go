package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
)

func newHistoryCommand() *cobra.Command {
	var list output.ListOptions
	cmd := &cobra.Command{
		Use: "history JOB", Short: "Show the history of a job, oldest first", Args: wantArgs(1, 1, "job id"),
		RunE: func(cmd *cobra.Command, words []string) error {
			id, err := jobID(words[0])
			if err != nil {
				return err
			}
			return listOf(cmd, list, eventColumns, func(c *client, add func(api.Event) error) error {
				var events []api.Event
				if err := c.call(cmd.Context(), api.History, jobParam(id), nil, &events); err != nil {
					return err
				}
				for _, e := range events {
					if err := add(e); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	list.Bind(cmd.Flags())
	return cmd
}

var eventColumns = []output.Column[api.Event]{
	{Name: "at", Text: func(e api.Event) string { return output.Moment(&e.At) }},
	{Name: "type", Text: func(e api.Event) string { return e.Type }},
	{Name: "job", Extra: true, Text: func(e api.Event) string {
		if e.Job == nil {
			return ""
		}
		return strconv.FormatInt(*e.Job, 10)
	}},
	{Name: "item", Text: func(e api.Event) string { return word(e.Item) }},
	{Name: "instance", Text: func(e api.Event) string { return word(e.Instance) }},
	{Name: "host", Text: func(e api.Event) string { return word(e.Host) }},
	{Name: "cause", Text: func(e api.Event) string { return e.Cause }},
}

// explanation is the answer of the explain endpoint.
type explanation struct {
	Reason string `json:"reason"`
	Facts  []struct {
		Kind string `json:"kind"`
		Text string `json:"text"`
	} `json:"facts"`
}

func newExplainCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "explain JOB", Short: "Explain why a job's items wait", Args: wantArgs(1, 1, "job id"),
		RunE: func(cmd *cobra.Command, words []string) error {
			id, err := jobID(words[0])
			if err != nil {
				return err
			}
			raw, err := getRaw(cmd, api.Explain, jobParam(id))
			if err != nil || asJSON {
				return printRaw(cmd, raw, err)
			}
			var e explanation
			if err := json.Unmarshal(raw, &e); err != nil {
				return fmt.Errorf("reading the explanation: %w", err)
			}
			out := cmd.OutOrStdout()
			if e.Reason == "" {
				e.Reason = "no item waits"
			}
			fmt.Fprintf(out, "job %d: %s\n", id, output.Escape(e.Reason))
			for _, fact := range e.Facts {
				fmt.Fprintf(out, "  %-10s %s\n", output.Escape(fact.Kind), output.Escape(fact.Text))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func newSnapshotCommand() *cobra.Command {
	return &cobra.Command{
		Use: "snapshot", Short: "Print a snapshot of the farm, as JSON for qb plan", Args: wantArgs(0, 0, ""),
		Example: "  qb snapshot | qb plan -",
		RunE: func(cmd *cobra.Command, _ []string) error {
			raw, err := getRaw(cmd, api.GetSnapshot, nil)
			return printRaw(cmd, raw, err)
		},
	}
}

// getRaw fetches an answer that is passed on as it is.
func getRaw(cmd *cobra.Command, e api.Endpoint, params api.Params) (json.RawMessage, error) {
	c, err := connect(cmd)
	if err != nil {
		return nil, err
	}
	var raw json.RawMessage
	return raw, c.call(cmd.Context(), e, params, nil, &raw)
}

func printRaw(cmd *cobra.Command, raw json.RawMessage, err error) error {
	if err != nil {
		return err
	}
	return printJSON(cmd, raw)
}
