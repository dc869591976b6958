package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
)

// complete answers a shell's completion request. cobra completes options only after two dashes, hence
// the last word gets one more on the way in, and the answers lose it on the way out.
func complete(ctx context.Context, root *cobra.Command, args []string, out io.Writer) error {
	words := args[1:]
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	before, _, err := rewrite(root, words[:len(words)-1])
	if err != nil { // such as an option that still waits for its value
		before = words[:len(words)-1]
	}
	oneDash := strings.HasPrefix(last, "-") && !strings.HasPrefix(last, "--")
	if oneDash {
		last = "-" + last
	}
	var answer bytes.Buffer
	root.SetOut(&answer)
	root.SetArgs(append(append([]string{args[0]}, before...), last))
	if err := root.ExecuteContext(ctx); err != nil {
		return err
	}
	for line := range strings.Lines(answer.String()) {
		if oneDash {
			line = strings.TrimPrefix(line, "-")
		}
		fmt.Fprint(out, line)
	}
	return nil
}

func newCompletionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print a shell completion script for qb and its links",
		Example: `  source <(qb completion bash)
  qb completion fish > ~/.config/fish/completions/qb.fish`,
		Args: wantArgs(1, 1, "shell"),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, root := cmd.OutOrStdout(), cmd.Root()
			switch args[0] {
			case "bash":
				if err := root.GenBashCompletionV2(out, true); err != nil {
					return err
				}
				fmt.Fprintf(out, "complete -o default -o nospace -F __start_qb%s\n", linkNames())
				return nil
			case "zsh":
				if err := root.GenZshCompletion(out); err != nil {
					return err
				}
				fmt.Fprintf(out, "compdef _qb%s\n", linkNames())
				return nil
			case "fish":
				return root.GenFishCompletion(out, true)
			}
			return api.Errorf(api.KindUsage, "no completion for shell %q; there are bash, zsh and fish", output.Escape(args[0]))
		},
	}
}

func linkNames() string {
	var b strings.Builder
	for _, name := range links {
		b.WriteString(" qb" + name)
	}
	return b.String()
}

// newLinksCommand lets the Makefile make the links without a second list.
func newLinksCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "links",
		Short:  "Print the names of the links, one per line",
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintln(cmd.OutOrStdout(), strings.ReplaceAll(strings.TrimSpace(linkNames()), " ", "\n"))
			return nil
		},
	}
}
