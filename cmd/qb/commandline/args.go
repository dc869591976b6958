package commandline

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/cmd/qb/qube"
	"qb/internal/units"
)

// ErrSilent ends a command that has already said what was wrong; it is exit code 1.
var ErrSilent = errors.New("")

// CommandWords marks commands whose words after the options are another program's command line.
const CommandWords = "command-words"

// once marks options that may be given once only.
const once = "once"

// Once marks options whose value is put together of parts, as a list or a condition, or chooses. People who give one
// twice mean both values, of which only the last would count. Of an option with a plain value the last counts, so that
// a script can put its own before those of its user.
func Once(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f := flags.Lookup(name)
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[once] = []string{}
	}
}

// refuseSecond refuses a value of such an option beside another that was given before.
func refuseSecond(flag *pflag.Flag, value string, before map[*pflag.Flag]string) error {
	first, given := before[flag]
	before[flag] = value
	if _, marked := flag.Annotations[once]; marked && given && first != value {
		return api.Errorf(api.KindUsage,
			"-%s is given twice, as %s and %s, and only one of them would count; give it once, with both if it takes a list",
			flag.Name, units.Quoted(first), units.Quoted(value))
	}
	return nil
}

// Rewrite turns words as Qube's users write them (-cpus 10, -max-cpus=5, --prio 3) into the ones that pflag
// understands (--cpus=10). An option and its value become one word, so that a value may start with a dash.
// Options end at --, and for commands that start programs at the first word that is none. At is the place behind the
// words that name the command.
func Rewrite(root *cobra.Command, args []string) (words []string, at int, err error) {
	cmd, named := root, true
	out := make([]string, 0, len(args)+1)
	before := map[*pflag.Flag]string{}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return append(out, args[i:]...), at, nil
		case !IsOption(arg):
			if sub := Child(cmd, arg); named && sub != nil {
				out, cmd, at = append(out, sub.Name()), sub, i+1
				if sub.DisableFlagParsing {
					return append(out, args[at:]...), at, nil
				}
				continue
			}
			if named && cmd.HasSubCommands() && !cmd.Runnable() {
				return nil, 0, unknownCommand(cmd, arg)
			}
			if cmd.Annotations[CommandWords] != "" {
				return append(append(out, "--"), args[i:]...), at, nil
			}
			named, out = false, append(out, arg)
		default:
			flag, value, given, err := FindOption(cmd, arg)
			if err != nil {
				return nil, 0, err
			}
			if !given && flag.NoOptDefVal == "" {
				i++
				if i == len(args) {
					return nil, 0, api.Errorf(api.KindUsage, "option -%s needs a value", flag.Name)
				}
				value, given = args[i], true
			}
			if err := refuseSign(flag, value); err != nil {
				return nil, 0, err
			}
			if err := refuseSecond(flag, value, before); err != nil {
				return nil, 0, err
			}
			if given {
				out = append(out, "--"+flag.Name+"="+value)
			} else {
				out = append(out, "--"+flag.Name)
			}
		}
	}
	return out, at, nil
}

func IsOption(word string) bool { return len(word) > 1 && word[0] == '-' }

func Child(cmd *cobra.Command, name string) *cobra.Command {
	for _, sub := range cmd.Commands() {
		if sub.Name() == name || sub.HasAlias(name) {
			return sub
		}
	}
	return nil
}

func unknownCommand(cmd *cobra.Command, word string) error {
	if answer, found := qube.Command(word); found && !cmd.HasParent() {
		return api.Errorf(api.KindUsage, "%s is a command of Qube's that qb has not: %s", "qb"+strings.TrimPrefix(word, "qb"),
			answer)
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return api.Errorf(api.KindUsage, "there is no command %q%s (%s -h lists all)",
		output.Escape(word), output.DidYouMean("", word, names), TypedName(cmd))
}

// FindOption finds the flag that an option word names, in full or by a prefix that only one flag has.
func FindOption(cmd *cobra.Command, word string) (flag *pflag.Flag, value string, given bool, err error) {
	name, value, given := strings.Cut(strings.TrimPrefix(word[1:], "-"), "=")
	wanted := NormalName(name)
	if wanted == "h" {
		wanted = "help"
	}
	var prefixed []*pflag.Flag
	var names []string
	VisitOptions(cmd, func(f *pflag.Flag) {
		switch have := NormalName(f.Name); {
		case have == wanted:
			flag = f
		case wanted != "" && strings.HasPrefix(have, wanted) && !f.Hidden:
			prefixed = append(prefixed, f)
		}
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if flag != nil {
		return flag, value, given, nil
	}
	habit := qube.Beginning(CommandWithin(cmd), wanted)
	if len(prefixed) == 1 && len(habit) == 0 {
		return prefixed[0], value, given, nil
	}
	option, answer, known := qube.Option(CommandWithin(cmd), wanted)
	if known && (option == wanted || len(prefixed) == 0) {
		return nil, "", false, api.Errorf(api.KindUsage, "-%s is an option of Qube's that %s has not: %s", option,
			TypedName(cmd), answer)
	}
	if len(prefixed) > 0 {
		var all []string
		for _, f := range prefixed {
			all = append(all, "-"+f.Name)
		}
		for _, name := range habit {
			all = append(all, "-"+name+" (Qube's)")
		}
		return nil, "", false, api.Errorf(api.KindUsage, "option -%s may be any of %s; write more of it",
			output.Escape(name), units.Few(all))
	}
	hint := output.DidYouMean("-", wanted, names)
	if _, err := strconv.ParseFloat(word, 64); err == nil {
		hint = ", and no number below 0 is taken here"
	}
	return nil, "", false, api.Errorf(api.KindUsage, "there is no option -%s%s (%s -h lists all)", output.Escape(name),
		hint, TypedName(cmd))
}

// VisitOptions visits a command's flags, those of its parents included.
func VisitOptions(cmd *cobra.Command, visit func(*pflag.Flag)) {
	cmd.InitDefaultHelpFlag()
	cmd.InheritedFlags() // as a side effect cobra merges the parents' flags into Flags
	cmd.Flags().VisitAll(visit)
}

// CommandWithin names a command without the program: "sub", "admin worker".
func CommandWithin(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return name
}

// refuseSign refuses a number with a plus: it would set the number, where the sign says to add it.
func refuseSign(flag *pflag.Flag, value string) error {
	if kind := flag.Value.Type(); (kind == "int" || kind == "width") && strings.HasPrefix(value, "+") {
		return api.Errorf(api.KindUsage, "-%s %s: nothing can be added to the present value; give the number itself",
			flag.Name, output.Escape(value))
	}
	return nil
}

func NormalName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// Given are the options of a command as they were given, except for the ones that are left out.
func Given(cmd *cobra.Command, left ...string) (args []string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(left, f.Name) {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return args
}
