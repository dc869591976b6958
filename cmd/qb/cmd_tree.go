package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
)

// mostDrawn is the most jobs of a group that are drawn: as many as one page of a list has.
const mostDrawn = 1000

// newTreeCommand is qb tree.
func newTreeCommand() *cobra.Command {
	var list output.ListOptions
	cmd := &cobra.Command{
		Use: "tree PGRP", Short: "Draw the jobs of a process group with what they wait for",
		Args: commandline.WantArgs(1, 1, "PGRP"),
		Long: "Draw the jobs of a process group: each below the first of its jobs that it waits for, with its label, its state and its items. The column\n" +
			"also names what else it waits for. PGRP is the first job of the group, or any other of its jobs. At most 1000 jobs are drawn.",
		Example: "  qbtree 12\n  qbtree 12 -json",
		RunE:    func(cmd *cobra.Command, words []string) error { return runTree(cmd, list, words[0]) },
	}
	list.Bind(cmd.Flags())
	return cmd
}

func treeColumns() []output.Column[*treeNode] {
	return []output.Column[*treeNode]{
		{Name: "job", Text: (*treeNode).job},
		{Name: "status", Status: true, Text: func(n *treeNode) string { return n.Status }},
		{Name: "complete", Text: (*treeNode).done},
		{Name: "also", Text: (*treeNode).waits},
	}
}

func runTree(cmd *cobra.Command, list output.ListOptions, word string) error {
	if _, err := jobID(word); err != nil {
		return err
	}
	return output.Print(cmd, "", list, treeColumns(), func() ([]*treeNode, error) {
		farm := connect(cmd)
		first, err := call[api.Job](cmd.Context(), farm, api.GetJob, api.Params{"job": word}, nil)
		if err != nil {
			return nil, err
		}
		jobs, err := call[[]api.Job](cmd.Context(), farm, api.ListJobs,
			api.Params{"expression": fmt.Sprintf("pgrp = %d", first.PGrp), "limit": strconv.Itoa(mostDrawn)}, nil)
		if len(jobs) == mostDrawn {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: the group has more than %d jobs; the newest are drawn\n",
				commandline.TypedName(cmd), mostDrawn)
		}
		return treeNodes(jobs), err
	})
}
