package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"qb/api"
)

func newHistoryCommand() *cobra.Command {
	var list listOptions
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
	list.bind(cmd)
	return cmd
}

var eventColumns = []column[api.Event]{
	{name: "at", text: func(e api.Event) string { return moment(&e.At) }},
	{name: "type", text: func(e api.Event) string { return e.Type }},
	{name: "job", extra: true, text: func(e api.Event) string {
		if e.Job == nil {
			return ""
		}
		return strconv.FormatInt(*e.Job, 10)
	}},
	{name: "item", text: func(e api.Event) string { return word(e.Item) }},
	{name: "instance", text: func(e api.Event) string { return word(e.Instance) }},
	{name: "host", text: func(e api.Event) string { return word(e.Host) }},
	{name: "cause", text: func(e api.Event) string { return e.Cause }},
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
			fmt.Fprintf(out, "job %d: %s\n", id, escape(e.Reason))
			for _, fact := range e.Facts {
				fmt.Fprintf(out, "  %-10s %s\n", escape(fact.Kind), escape(fact.Text))
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
