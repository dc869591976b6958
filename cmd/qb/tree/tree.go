package tree

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/cmd/qb/remote"
)

// mostDrawn is the most jobs of a group that are drawn: as many as one page of a list has.
const mostDrawn = 1000

// Shell is the program that the command belongs to.
type Shell struct{ remote.Shell }

// Command is qb tree.
func (s Shell) Command() *cobra.Command {
	var list output.ListOptions
	cmd := &cobra.Command{
		Use: "tree PGRP", Short: "Draw the jobs of a process group with what they wait for", Args: commandline.WantArgs(1, 1, "PGRP"),
		Long: "Draw the jobs of a process group: each below the first of its jobs that it waits for, with its label, its state and its items. The column\n" +
			"also names what else it waits for. PGRP is the first job of the group, or any other of its jobs. At most 1000 jobs are drawn.",
		Example: "  qbtree 12\n  qbtree 12 -json",
		RunE:    func(cmd *cobra.Command, words []string) error { return s.run(cmd, list, words[0]) },
	}
	list.Bind(cmd.Flags())
	return cmd
}

func columns() []output.Column[*Node] {
	return []output.Column[*Node]{
		{Name: "job", Text: (*Node).job},
		{Name: "status", Status: true, Text: func(n *Node) string { return n.Status }},
		{Name: "complete", Text: (*Node).done},
		{Name: "also", Text: (*Node).waits},
	}
}

func (s Shell) run(cmd *cobra.Command, list output.ListOptions, word string) error {
	if _, err := remote.JobID(word); err != nil {
		return err
	}
	return output.Print(cmd, "", list, columns(), func() ([]*Node, error) {
		farm := s.Connect(cmd)
		first, err := remote.Ask[api.Job](cmd.Context(), farm, api.GetJob, api.Params{"job": word}, nil)
		if err != nil {
			return nil, err
		}
		jobs, err := remote.Ask[[]api.Job](cmd.Context(), farm, api.ListJobs, api.Params{"expression": fmt.Sprintf("pgrp = %d", first.PGrp), "limit": strconv.Itoa(mostDrawn)}, nil)
		if len(jobs) == mostDrawn {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: the group has more than %d jobs; the newest are drawn\n", commandline.TypedName(cmd), mostDrawn)
		}
		return nodes(jobs), err
	})
}
