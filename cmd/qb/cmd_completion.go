package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
)

func newCompletionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a shell completion script for qb and its links",
		Example: `  source <(qb completion bash)
  source <(qb completion zsh)
  qb completion fish > ~/.config/fish/completions/qb.fish
  qb completion powershell | Out-String | Invoke-Expression`,
		Args: commandline.WantArgs(1, 1, "shell"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(completionShells, args[0]) {
				return api.Errorf(api.KindUsage, "no completion for shell %q; there are bash, zsh, fish and powershell", args[0])
			}
			names := append([]string{"qb", openjdName}, linkNames()...)
			_, err := io.WriteString(cmd.OutOrStdout(), completionScript(args[0], names))
			return err
		},
	}
}

func linkNames() (names []string) {
	for _, name := range linkedCommands() {
		names = append(names, "qb"+name)
	}
	return names
}
