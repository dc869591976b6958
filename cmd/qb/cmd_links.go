package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"qb/cmd/qb/qube"
)

// installedNames are the links, and the names of the Qube commands that qb lacks. A command of such a name prints what
// to type instead.
func installedNames() []string {
	names := linkNames()
	for _, name := range qube.Commands() {
		names = append(names, "qb"+name)
	}
	return append(names, openjdName)
}

// newLinksCommand lets the Makefile make the links without a second list.
func newLinksCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "links",
		Short:  "Print the names of the links, one per line",
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintln(cmd.OutOrStdout(), strings.Join(installedNames(), "\n"))
			return nil
		},
	}
}
