package commandline

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qb/api"
)

// ByLink marks a root whose command was called by the name of a link, which it has.
const ByLink = "link"

// TypedName is a command's name as it was typed: qbsub, or qb sub.
func TypedName(cmd *cobra.Command) string {
	link := cmd.Root().Annotations[ByLink]
	program, words, _ := strings.Cut(cmd.CommandPath(), " ")
	switch {
	case link == "":
		return cmd.CommandPath()
	case !strings.HasPrefix(link, program): // a link of another name than qbNAME
		return words
	}
	return program + words
}

// PrintHelp writes what a command is for and its options, with one dash as the manual writes them.
func PrintHelp(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "usage: %s\n", UseLine(cmd))
	if cmd.HasAvailableSubCommands() && cmd.Runnable() {
		fmt.Fprintf(out, "   or: %s\n", commandsLine(cmd))
	}
	fmt.Fprintf(out, "\n%s\n", cmp.Or(cmd.Long, cmd.Short))
	if cmd.HasAvailableSubCommands() {
		printCommands(out, cmd)
	}
	fmt.Fprint(out, "\nOptions (one dash or two; a unique beginning is enough):\n")
	VisitOptions(cmd, func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(out, "  %-22s %s\n", strings.TrimSpace("-"+f.Name+" "+value), usage)
	})
	if cmd.Example != "" {
		fmt.Fprintf(out, "\nExamples:\n%s\n", cmd.Example)
	}
}

// printCommands lists what is below a command, part by part where it has groups.
func printCommands(out io.Writer, cmd *cobra.Command) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands"}}
	}
	for _, g := range groups {
		fmt.Fprintf(out, "\n%s:\n", g.Title)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == g.ID && sub.IsAvailableCommand() && sub.Name() != "help" {
				fmt.Fprintf(out, "  %-14s %s\n", sub.Name(), sub.Short)
			}
		}
	}
}

// UseLine is how a command is called; of a group of commands, that one of these follows.
func UseLine(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() && !cmd.Runnable() {
		return commandsLine(cmd)
	}
	_, words, _ := strings.Cut(cmd.Use, " ")
	return strings.TrimSpace(TypedName(cmd) + " [options] " + words)
}

func commandsLine(cmd *cobra.Command) string { return TypedName(cmd) + " COMMAND …" }

func HelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND…]",
		Short: "Describe a command and its options",
		RunE: func(_ *cobra.Command, words []string) error {
			cmd := root
			for _, word := range words {
				next := Child(cmd, word)
				if next == nil {
					return unknownCommand(cmd, word)
				}
				cmd = next
			}
			PrintHelp(cmd, nil)
			return nil
		},
	}
}

// FlagError says in our words what pflag refused.
func FlagError(_ *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return api.Errorf(api.KindUsage, "%v", err)
	}
	why := "is not valid"
	switch bad.GetFlag().Value.Type() {
	case "int", "int64":
		why = "is not a whole number"
	case "bool":
		why = "is neither true nor false"
	case "duration", "time": // their errors name the value
		return api.Errorf(api.KindUsage, "-%s %v", bad.GetFlag().Name, bad.Unwrap())
	default:
		why = bad.Unwrap().Error()
	}
	return api.Errorf(api.KindUsage, "-%s %q %s", bad.GetFlag().Name, bad.GetValue(), why)
}

// WantArgs refuses a number of words that a command cannot take, as wrong usage.
func WantArgs(low, high int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < low {
			return api.Errorf(api.KindUsage, "no %s given; usage: %s", what, UseLine(cmd))
		}
		if high >= 0 && len(args) > high {
			return api.Errorf(api.KindUsage, "unexpected word %q; usage: %s", args[high], UseLine(cmd))
		}
		return nil
	}
}
