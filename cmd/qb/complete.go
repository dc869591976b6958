package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/complete"
	"qb/cmd/qb/config"
	"qb/cmd/qb/jobselect"
	"qb/cmd/qb/manpages"
	"qb/cmd/qb/output"
	"qb/cmd/qb/qube"
)

// completeWord is the word before a command line that a shell wants to complete.
const completeWord = "__complete"

// lineSoFar is a command line up to the word that is being typed.
type lineSoFar struct {
	cmd     *cobra.Command
	waiting *pflag.Flag // an option that lacks its value
	args    int         // words that are no options
	over    bool        // no options may follow
}

// completeLine prints what the last word may become. Nothing that is wrong with the line is an error.
func completeLine(ctx context.Context, root *cobra.Command, args []string, out io.Writer) error {
	root.SetErr(io.Discard)
	ctx, cancel := context.WithTimeout(ctx, complete.Within)
	defer cancel()
	words := args[1:]
	if len(words) == 0 {
		words = []string{""}
	}
	bare := strings.NewReplacer(`'`, "", `"`, "", `\`, "")
	for n := range words {
		words[n] = bare.Replace(words[n])
	}
	last := words[len(words)-1]
	line, ok := readLine(root, words[:len(words)-1])
	if !ok {
		return nil
	}
	line.cmd.SetContext(ctx)
	farm := connect(line.cmd)
	name, value, given := strings.Cut(last, "=")
	switch {
	case line.waiting != nil:
		place := placeOf(line.cmd, line.waiting)
		return complete.Print(out, place, complete.Values(ctx, farm, place, last))
	case commandline.IsOption(last+" ") && !line.over && given:
		flag, _, _, err := commandline.FindOption(line.cmd, name)
		if err != nil {
			return nil
		}
		place := placeOf(line.cmd, flag)
		found := complete.Values(ctx, farm, place, value)
		for n := range found {
			found[n].Text = name + "=" + found[n].Text
		}
		return complete.Print(out, complete.Place{}, found)
	case commandline.IsOption(last+" ") && !line.over:
		return complete.Print(out, complete.Place{}, optionNames(line.cmd, last))
	}
	place := placeOfWord(line)
	return complete.Print(out, place, complete.Values(ctx, farm, place, last))
}

// readLine follows a line to its end; false if it cannot be understood.
func readLine(root *cobra.Command, words []string) (line lineSoFar, ok bool) {
	line.cmd = root
	for _, word := range words {
		switch {
		case line.waiting != nil:
			setFinder(line.waiting, word)
			line.waiting = nil
		case word == "--" && !line.over:
			line.over = true
		case commandline.IsOption(word) && !line.over:
			flag, value, given, err := commandline.FindOption(line.cmd, word)
			switch {
			case err != nil:
				return line, false
			case given:
				setFinder(flag, value)
			case flag.NoOptDefVal == "":
				line.waiting = flag
			}
		default:
			if sub := commandline.Child(line.cmd, word); sub != nil && line.args == 0 {
				line.cmd = sub
				continue
			}
			line.args++
			line.over = line.over || line.cmd.Annotations[commandline.CommandWords] != ""
		}
	}
	return line, true
}

// setFinder sets an option that says where the farm is.
func setFinder(flag *pflag.Flag, value string) {
	if flag.Name == "conf" || flag.Name == "supervisor" {
		_ = flag.Value.Set(value) // any text will do
	}
}

// optionNames are the options that begin as typed, with as many dashes.
func optionNames(cmd *cobra.Command, begun string) (words []complete.Word) {
	dashes := "-"
	if strings.HasPrefix(begun, "--") {
		dashes = "--"
	}
	commandline.VisitOptions(cmd, func(f *pflag.Flag) {
		if !f.Hidden && strings.HasPrefix(commandline.NormalName(f.Name), commandline.NormalName(strings.TrimPrefix(begun, dashes))) {
			_, usage := pflag.UnquoteUsage(f)
			words = append(words, complete.Word{Text: dashes + f.Name, About: usage})
		}
	})
	return words
}

// placeOfWord is what a word that is no option may be.
func placeOfWord(line lineSoFar) complete.Place {
	if line.cmd.HasAvailableSubCommands() && line.args == 0 {
		var names []string
		for _, sub := range line.cmd.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		return complete.Place{Kind: complete.Words, Words: names}
	}
	_, path, _ := strings.Cut(line.cmd.CommandPath(), " ")
	for _, a := range actions {
		if a.name == path {
			return complete.Place{Kind: complete.Items, States: a.states}
		}
	}
	if path == "sub" && line.args > 0 {
		return complete.Place{Kind: complete.Files}
	}
	return wordPlaces[path]
}

// wordPlaces are the words of commands that are no options.
var wordPlaces = map[string]complete.Place{
	"sub": {Kind: complete.Commands}, "modify": {Kind: complete.Jobs, States: jobselect.Unfinished},
	"jobs": {Kind: complete.Jobs}, "items": {Kind: complete.Jobs}, "history": {Kind: complete.Jobs}, "explain": {Kind: complete.Jobs},
	"watch": {Kind: complete.Jobs}, "out": {Kind: complete.Items}, "err": {Kind: complete.Items},
	"hosts": {Kind: complete.Hosts}, "lock": {Kind: complete.Hosts}, "unlock": {Kind: complete.Hosts}, "admin worker": {Kind: complete.Hosts},
	"admin user set": {Kind: complete.Users}, "admin user invite": {Kind: complete.Users}, "admin user remove": {Kind: complete.Users},
	"share": {Kind: complete.Users}, "admin share set": {Kind: complete.Users}, "admin credit add": {Kind: complete.Users},
	"admin credit list": {Kind: complete.Users}, "completion": {Kind: complete.Words, Words: complete.Shells},
	"config show": {Kind: complete.Words, Words: config.Names()}, "config check": {Kind: complete.Files}, "config preset": {Kind: complete.Words, Words: config.Presets()},
	"plan": {Kind: complete.Files}, "backup": {Kind: complete.Files}, "restore": {Kind: complete.Files},
}

// placeOf is what the value of an option may be. Those of qbmodify begin with m.
func placeOf(cmd *cobra.Command, flag *pflag.Flag) complete.Place {
	if flag.Value.Type() != "string" {
		return complete.Place{}
	}
	name := flag.Name
	if cmd.Name() == "modify" {
		name = strings.TrimPrefix(name, "m")
	}
	ofUsers := strings.HasPrefix(commandline.CommandWithin(cmd), "admin user ")
	switch columns := fieldsOf[cmd.Name()]; {
	case ofUsers && (name == "groups" || name == "leads"):
		return complete.Place{} // no groups of hosts
	case name == "submitas":
		return complete.Place{Kind: complete.Users, List: true}
	case name == "role" && ofUsers:
		return complete.Place{Kind: complete.Words, Words: []string{"read-only", "user", "operator", "admin"}}
	case name == "fields":
		return complete.Place{Kind: complete.Words, Words: columns, List: true}
	case name == "sortby":
		return complete.Place{Kind: complete.Words, Words: columns}
	case name == "user" && cmd.Name() == "jobs":
		return complete.Place{Kind: complete.Users, Words: []string{"all", "me"}}
	case name == "user" && cmd.Name() == "watch":
		return complete.Place{Kind: complete.Users, Words: []string{"all"}}
	}
	return valuePlaces[name]
}

// fieldsOf are the fields of the listings.
var fieldsOf = map[string][]string{"jobs": output.Names(jobColumns), "items": output.Names(itemColumns), "hosts": output.Names(hostColumns)}

// valuePlaces are the values of options, by name.
var valuePlaces = map[string]complete.Place{
	"hosts": {Kind: complete.Hosts, List: true}, "omithosts": {Kind: complete.Hosts, List: true},
	"groups": {Kind: complete.Groups, List: true}, "omitgroups": {Kind: complete.Groups, List: true},
	"cluster": {Kind: complete.Clusters}, "restrictions": {Kind: complete.Clusters}, "account": {Kind: complete.Accounts},
	"user": {Kind: complete.Users}, "waitfor": {Kind: complete.Jobs, States: jobselect.Unfinished, List: true},
	"dependency": {Kind: complete.Jobs, States: jobselect.Unfinished, List: true},
	"status":     {Kind: complete.Words, Words: []string{"pending", "blocked"}},
	"role":       {Kind: complete.Words, Words: []string{"admin", "operator", "user", "read-only", "worker"}},
	"run_as":     {Kind: complete.Words, Words: []string{"agent", "owner"}},
	"conf":       {Kind: complete.Files}, "token_file": {Kind: complete.Files}, "state": {Kind: complete.Folders}, "cwd": {Kind: complete.Folders},
}

func newCompletionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print a shell completion script for qb and its links",
		Example: `  source <(qb completion bash)
  source <(qb completion zsh)
  qb completion fish > ~/.config/fish/completions/qb.fish`,
		Args: commandline.WantArgs(1, 1, "shell"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(complete.Shells, args[0]) {
				return api.Errorf(api.KindUsage, "no completion for shell %q; there are bash, zsh and fish", output.Escape(args[0]))
			}
			_, err := io.WriteString(cmd.OutOrStdout(), complete.Script(args[0], append([]string{"qb"}, linkNames()...)))
			return err
		},
	}
}

func linkNames() (names []string) {
	for _, name := range links {
		names = append(names, "qb"+name)
	}
	return names
}

// installedNames are the links and the names of Qube's commands that qb has not, which answer what to type instead.
func installedNames() []string {
	names := linkNames()
	for _, name := range qube.Commands() {
		names = append(names, "qb"+name)
	}
	return names
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

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages of all commands", Hidden: true, Args: commandline.WantArgs(1, 1, "folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return manpages.Write(newRoot(), installedNames(), api.Version(), args[0])
		},
	}
}
