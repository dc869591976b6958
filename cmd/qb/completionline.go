package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qb/cmd/qb/commandline"
	"qb/cmd/qb/config"
	"qb/cmd/qb/output"
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
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
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
		return printCompletions(out, place, completions(ctx, farm, place, last))
	case commandline.IsOption(last+" ") && !line.over && given:
		flag, _, _, err := commandline.FindOption(line.cmd, name)
		if err != nil {
			return nil
		}
		place := placeOf(line.cmd, flag)
		found := completions(ctx, farm, place, value)
		for n := range found {
			found[n].Text = name + "=" + found[n].Text
		}
		return printCompletions(out, wordPosition{}, found)
	case commandline.IsOption(last+" ") && !line.over:
		return printCompletions(out, wordPosition{}, optionNames(line.cmd, last))
	}
	place := placeOfWord(line)
	return printCompletions(out, place, completions(ctx, farm, place, last))
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
func optionNames(cmd *cobra.Command, begun string) (words []completion) {
	dashes := "-"
	if strings.HasPrefix(begun, "--") {
		dashes = "--"
	}
	commandline.VisitOptions(cmd, func(f *pflag.Flag) {
		if !f.Hidden && strings.HasPrefix(commandline.NormalName(f.Name),
			commandline.NormalName(strings.TrimPrefix(begun, dashes))) {
			_, usage := pflag.UnquoteUsage(f)
			words = append(words, completion{Text: dashes + f.Name, About: usage})
		}
	})
	return words
}

// placeOfWord is what a word that is no option may be.
func placeOfWord(line lineSoFar) wordPosition {
	if line.cmd.HasAvailableSubCommands() && line.args == 0 {
		var names []string
		for _, sub := range line.cmd.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		return wordPosition{Kind: givenWords, Words: names}
	}
	_, path, _ := strings.Cut(line.cmd.CommandPath(), " ")
	for _, a := range actions {
		if a.name == path {
			return wordPosition{Kind: itemWords, States: a.states}
		}
	}
	if path == "sub" && line.args > 0 {
		return wordPosition{Kind: fileWords}
	}
	return wordPlaces()[path]
}

// wordPlaces are the words of commands that are no options.
func wordPlaces() map[string]wordPosition {
	return map[string]wordPosition{
		"sub": {Kind: programWords}, "modify": {Kind: jobWords, States: unfinishedStates},
		"jobs": {Kind: jobWords}, "items": {Kind: jobWords}, "history": {Kind: jobWords}, "explain": {Kind: jobWords},
		"watch": {Kind: jobWords}, "out": {Kind: itemWords}, "err": {Kind: itemWords},
		"hosts": {Kind: hostWords}, "lock": {Kind: hostWords}, "unlock": {Kind: hostWords}, "admin worker": {Kind: hostWords},
		"admin user set": {Kind: userWords}, "admin user invite": {Kind: userWords}, "admin user remove": {Kind: userWords},
		"share": {Kind: userWords}, "admin share set": {Kind: userWords}, "admin credit add": {Kind: userWords},
		"admin credit list": {Kind: userWords}, "completion": {Kind: givenWords, Words: completionShells},
		"config show": {Kind: givenWords, Words: config.Names()}, "config check": {Kind: fileWords},
		"config preset": {Kind: givenWords, Words: config.Presets()},
		"plan":          {Kind: fileWords}, "backup": {Kind: fileWords}, "restore": {Kind: fileWords},
	}
}

// placeOf is what the value of an option may be. Those of qbmodify begin with m.
func placeOf(cmd *cobra.Command, flag *pflag.Flag) wordPosition {
	if flag.Value.Type() != "string" {
		return wordPosition{}
	}
	name := flag.Name
	if cmd.Name() == "modify" {
		name = strings.TrimPrefix(name, "m")
	}
	ofUsers := strings.HasPrefix(commandline.CommandWithin(cmd), "admin user ")
	switch columns := fieldsOf[cmd.Name()]; {
	case ofUsers && (name == "groups" || name == "leads"):
		return wordPosition{} // no groups of hosts
	case name == "submitas":
		return wordPosition{Kind: userWords, List: true}
	case name == "role" && ofUsers:
		return wordPosition{Kind: givenWords, Words: []string{"read-only", "user", "operator", "admin"}}
	case name == "fields":
		return wordPosition{Kind: givenWords, Words: columns, List: true}
	case name == "sortby":
		return wordPosition{Kind: givenWords, Words: columns}
	case name == "user" && cmd.Name() == "jobs":
		return wordPosition{Kind: userWords, Words: []string{"all", "me"}}
	case name == "user" && cmd.Name() == "watch":
		return wordPosition{Kind: userWords, Words: []string{"all"}}
	}
	return valuePlaces[name]
}

// fieldsOf are the fields of the listings.
var fieldsOf = map[string][]string{"jobs": output.Names(jobColumns), "items": output.Names(itemColumns),
	"hosts": output.Names(hostColumns)}

// valuePlaces are the values of options, by name.
var valuePlaces = map[string]wordPosition{
	"hosts": {Kind: hostWords, List: true}, "omithosts": {Kind: hostWords, List: true},
	"groups": {Kind: groupWords, List: true}, "omitgroups": {Kind: groupWords, List: true},
	"cluster": {Kind: clusterWords}, "restrictions": {Kind: clusterWords}, "account": {Kind: accountWords},
	"user": {Kind: userWords}, "waitfor": {Kind: jobWords, States: unfinishedStates, List: true},
	"dependency": {Kind: jobWords, States: unfinishedStates, List: true},
	"status":     {Kind: givenWords, Words: []string{"pending", "blocked"}},
	"role":       {Kind: givenWords, Words: []string{"admin", "operator", "user", "read-only", "worker"}},
	"run_as":     {Kind: givenWords, Words: []string{"agent", "owner"}},
	"conf":       {Kind: fileWords}, "token_file": {Kind: fileWords}, "state": {Kind: folderWords},
	"cwd": {Kind: folderWords},
}
