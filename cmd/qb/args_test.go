package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qb/cmd/qb/commandline"
	"qb/cmd/qb/qube"
)

func TestRewrite(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"sub -priority 5 -cpus 10 -max_cpus 50 -range 1-100 sleep 60",
			"sub --priority=5 --cpus=10 --max_cpus=50 --range=1-100 -- sleep 60"},
		{"sub --priority=5 --cpus 10 --max-cpus 50 sleep -p 60 --cpus 3",
			"sub --priority=5 --cpus=10 --max_cpus=50 -- sleep -p 60 --cpus 3"},
		{"sub -prio 5 -waito -name -x- -- -weird cmd -cpus 1", "sub --priority=5 --waiton --name=-x- -- -weird cmd -cpus 1"},
		{"sub -range -10-10 sleep 1", "sub --range=-10-10 -- sleep 1"},
		{"sub -range=-10--1x2 sleep 1", "sub --range=-10--1x2 -- sleep 1"},
		{"sub -max_cpus * -max_cpus -1 true", "sub --max_cpus=* --max_cpus=-1 -- true"},
		{"sub -name= true", "sub --name= -- true"},
		{"sub -h", "sub --help"},
		{"sub true -h", "sub -- true -h"},
		{"jobs 12 -json -no_head", "jobs 12 --json --no-headers"},
		{"jobs -json=false -- -weird", "jobs --json=false -- -weird"},
		{"out 12:7 -follow", "out 12:7 --follow"},
		{"admin token create -user ada", "admin token create --user=ada"},
		{"-conf a.conf jobs -supervisor unix:/x", "--conf=a.conf jobs --supervisor=unix:/x"},
		{"kill jobs", "kill jobs"},
		{"admin s -reread", "admin supervisor --reread"},
		{"admin w vm-1 -restart", "admin worker vm-1 --restart"},
		{"config check -", "config check -"},
		{"", ""},
	} {
		got, _, err := commandline.Rewrite(newRoot(), strings.Fields(test.in))
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("rewrite(%q)\n got %q, %v\nwant %q", test.in, strings.Join(got, " "), err, test.want)
		}
	}
}

func TestRewriteRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"sub -cpuz 3 sleep":                 "there is no option -cpuz; did you mean -cpus? (qb sub -h lists all)",
		"sub -c 3 sleep":                    "option -c may be any of",
		"sub -cpus":                         "option -cpus needs a value",
		"sub ---cpus 3 sleep":               "there is no option --cpus",
		"jbos":                              `there is no command "jbos"; did you mean jobs?`,
		"admin tokne":                       `there is no command "tokne"; did you mean token?`,
		"admin credit add ada -1 -source x": "there is no option -1, and no number below 0 is taken here",
		"jobs -\x1b[2J":                     `there is no option -\x1b[2J`,
		"sub -waitfor 3 -waitf 4 true":      `-waitfor is given twice, as "3" and "4", and only one of them would count`,
		"sub -frames 1 -frames 2 true":      "-frames is given twice",
	} {
		got, _, err := commandline.Rewrite(newRoot(), strings.Fields(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("rewrite(%q) = %q, %v; want an error with %q", in, got, err, want)
		}
	}
}

// TestSecondValues: an option that is given twice keeps both values, is refused, or has a plain value, of which the last
// counts. The plain ones are listed: what is not is put together of parts or chooses, and half of it would be lost
// without a word.
func TestSecondValues(t *testing.T) {
	plain := map[string]string{
		"sub": `priority cpus max_cpus cluster pgrp label kind system type pid name notes security account start timeout agenda_timeout timelimit
			agendatimelimit retrywork retryworkdelay retrysubjob status state timereq profile prod_show prod_seq prod_shot prod_dept
			prod_client prod_custom1 prod_custom2 prod_custom3 prod_custom4 prod_custom5 cwd user umask export import chunk partitions
			padding p_priority p_cpus processors`,
		"modify": `mpriority mcpus mmax_cpus mcluster mpgrp mlabel mkind msystem mpid mname mnotes msecurity maccount mstart mtimeout
			magenda_timeout mtimelimit magendatimelimit mretrywork mretrywork_delay mretrysubjob mtimereq mprofile mprod_show
			mprod_seq mprod_shot mprod_dept mprod_client mprod_custom1 mprod_custom2 mprod_custom3 mprod_custom4 mprod_custom5
			mcwd mumask mprocessors`,
		"retry": "", "kill": "", "jobs": "fields sortby delimit limit", "hosts": "fields sortby delimit",
	}
	common := strings.Fields("conf supervisor key retryfor version help")
	root := newRoot()
	for command, names := range plain {
		cmd := commandline.Child(root, command)
		refused := 0
		commandline.VisitOptions(cmd, func(f *pflag.Flag) {
			kind := f.Value.Type()
			if kind == "bool" || kind == "stringArray" || f.NoOptDefVal != "" || slices.Contains(common, f.Name) {
				return
			}
			last := slices.Contains(strings.Fields(names), f.Name)
			_, _, err := commandline.Rewrite(root, []string{command, "-" + f.Name, "1", "-" + f.Name, "2"})
			if (err == nil) != last {
				t.Errorf("%s: -%s given twice: %v", command, f.Name, err)
			}
			_, _, same := commandline.Rewrite(root, []string{command, "-" + f.Name, "1", "-" + f.Name + "=1"})
			if same != nil {
				t.Errorf("%s: -%s given twice alike: %v", command, f.Name, same)
			}
			refused++
		})
		if refused < 3 {
			t.Errorf("%s: %d options tried", command, refused)
		}
	}
}

// What pflag is given is always taken by pflag, whatever the words, and the command's words come through
// untouched.
func FuzzRewrite(f *testing.F) {
	for _, seed := range []string{
		"sub\n-cpus\n3\nls\n-l", "sub\n-range\n-10-10\n--\n-x", "jobs\n12\n-json", "sub\n-name=-\n-", "admin\ntoken\n-x",
		"sub\n-env\nA=b\n-env=C=d\ntrue", "-conf\nx\nsub\n-h", "sub\n-max_cpus\n*\nx", "-\n--", "sub\n-",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, joined string) {
		words := strings.Split(joined, "\n")
		root := newRoot()
		got, _, err := commandline.Rewrite(root, words)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\x1b\n\r") {
				t.Fatalf("rewrite(%q) shows control characters: %q", words, err)
			}
			return
		}
		cmd, rest, err := root.Find(got)
		if err != nil {
			t.Fatalf("rewrite(%q) = %q, which names no command: %v", words, got, err)
		}
		cmd.InitDefaultHelpFlag()
		if err := cmd.ParseFlags(rest); err != nil && strings.Contains(err.Error(), "unknown") {
			t.Fatalf("rewrite(%q) = %q, of which pflag says %v", words, got, err)
		}
		if i := slices.Index(got, "--"); i >= 0 {
			tail := got[i+1:]
			if len(tail) > len(words) || !slices.Equal(tail, words[len(words)-len(tail):]) {
				t.Fatalf("rewrite(%q) changed the command's words to %q", words, tail)
			}
		}
	})
}

func TestLinkedArgs(t *testing.T) {
	for _, test := range []struct{ program, in, want string }{
		{"qbsub", "-cpus 1", "sub -cpus 1"}, {"qb", "sub -cpus 1", "sub -cpus 1"}, {"qbsub", "__complete -c", "__complete sub -c"},
		{"openjd", "check x", "openjd check x"}, {"openjd", "__complete check", "__complete openjd check"}, {"qbert", "x", "x"}, {"qb.test", "x", "x"},
	} {
		if got := strings.Join(linkedArgs(test.program, strings.Fields(test.in)), " "); got != test.want {
			t.Errorf("linkedArgs(%s, %s) = %s, want %s", test.program, test.in, got, test.want)
		}
	}
	for _, name := range linkedCommands() {
		if commandline.Child(newRoot(), name) == nil {
			t.Errorf("there is a link qb%s, but no command %s", name, name)
		}
	}
}

// What a word may become, without a farm. Nothing that is wrong, nor a missing farm, prints anything else.
func TestComplete(t *testing.T) {
	t.Setenv("QB_STATE", t.TempDir())
	t.Setenv("QB_SUPERVISOR", "")
	t.Setenv("QB_CONF", os.DevNull)
	for line, want := range map[string]string{
		"sub -cpus 3 -max":              "-max_cpus",
		"sub --max-c":                   "--max_cpus",
		"sub -status ":                  "pending blocked",
		"sub -status=bl":                "-status=blocked",
		"sub -cpus ":                    "",
		"sub -":                         "-name -priority -cpus",
		"sub sle":                       "\tcommands",
		"sub -cpus 3 sleep /e":          "\tfiles",
		"sub sleep -c":                  "\tfiles",
		"sub -nonsense -":               "",
		"jobs -ru":                      "-running",
		"jobs -user a":                  "all",
		"jobs -fields id,sta":           "id,status id,started_at id,start",
		"modify -mstat":                 "",
		"config sh":                     "show",
		"config show supervisor_max_pr": "supervisor_max_priority",
		"config check ":                 "\tfiles",
		"-conf ":                        "\tfiles",
		"admin w":                       "worker",
		"watc":                          "watch",
		"kill ":                         "",
		"nonsense ":                     "",
		"farm -state ":                  "\tfolders",
		"farm -hosts ":                  "",
		"completion ":                   "bash zsh fish powershell",
	} {
		var out strings.Builder
		args := append([]string{completeWord}, strings.Split(line, " ")...)
		if err := completeLine(t.Context(), newRoot(), args, &out); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		var words []string
		for text := range strings.Lines(out.String()) {
			if word, _, _ := strings.Cut(text, "\t"); word != "" {
				words = append(words, word)
			} else {
				words = append(words, strings.TrimRight(text, "\n"))
			}
		}
		if got := strings.Join(words, " "); got != want && !(line == "sub -" && strings.HasPrefix(got, want)) {
			t.Errorf("qb %s<TAB> gives %q, want %q", line, got, want)
		}
	}
}

// The tables of what completes name commands and options that there are.
func TestCompletePlaces(t *testing.T) {
	options := map[string]bool{}
	paths := map[string]bool{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		_, path, _ := strings.Cut(cmd.CommandPath(), " ")
		paths[path] = true
		commandline.VisitOptions(cmd, func(f *pflag.Flag) { options[f.Name] = true })
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot())
	for path := range wordPlaces() {
		if !paths[path] {
			t.Errorf("there is no command %q", path)
		}
	}
	for name := range valuePlaces {
		if !options[name] {
			t.Errorf("there is no option -%s", name)
		}
	}
}

// Every command can say what it is for, in help and in lists, and each of its options what it takes.
func TestHelp(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		var out strings.Builder
		cmd.SetOut(&out)
		commandline.PrintHelp(cmd, nil)
		if cmd.Short == "" || !strings.Contains(out.String(), "usage: "+cmd.CommandPath()) || !strings.Contains(out.String(), "  -help ") {
			t.Errorf("help of %s:\n%s", cmd.CommandPath(), &out)
		}
		if own := "usage: " + cmd.CommandPath() + " [options]"; cmd.Runnable() != strings.Contains(out.String(), own) {
			t.Errorf("help of %s, which runs by itself: %v\n%s", cmd.CommandPath(), cmd.Runnable(), &out)
		}
		commandline.VisitOptions(cmd, func(f *pflag.Flag) {
			if value, usage := pflag.UnquoteUsage(f); !f.Hidden && (value == f.Value.Type() || strings.Contains(usage, ",;")) {
				t.Errorf("%s -%s %s  %s", cmd.CommandPath(), f.Name, value, usage)
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot())
}

// Each command has its part in the list of all, and each name there is a command.
func TestGroupsOfCommands(t *testing.T) {
	root := newRoot()
	for _, cmd := range root.Commands() {
		if cmd.GroupID == "" && cmd.IsAvailableCommand() && cmd.Name() != "help" {
			t.Errorf("%s is in no part of `qb help`: add it to commandGroups", cmd.Name())
		}
	}
	seen := map[string]bool{}
	for _, g := range commandGroups {
		for _, name := range g.commands {
			if seen[name] || commandline.Child(root, name) == nil {
				t.Errorf("%s: %s is no command, or stands twice", g.title, name)
			}
			seen[name] = true
		}
	}
}

// A worker does not read QB_SUPERVISOR, and its option may stand before the command as everybody's.
func TestWorkersSupervisorOption(t *testing.T) {
	worker := commandline.Child(newRoot(), "worker")
	var out strings.Builder
	worker.SetOut(&out)
	commandline.PrintHelp(worker, nil)
	if strings.Contains(out.String(), "QB_SUPERVISOR") || strings.Count(out.String(), "  -supervisor ") != 1 {
		t.Errorf("help of qb worker:\n%s", &out)
	}
	root := newRoot()
	given := ""
	commandline.Child(root, "worker").RunE = func(cmd *cobra.Command, _ []string) error {
		given, _ = cmd.Flags().GetString("supervisor")
		return nil
	}
	words, _, err := commandline.Rewrite(root, []string{"-supervisor", "http://heron:50001", "worker"})
	root.SetArgs(words)
	if err == nil {
		err = root.Execute()
	}
	if err != nil || given != "http://heron:50001" {
		t.Errorf("%q gives %q, %v", words, given, err)
	}
}

// TestHabits: each command and option of Qube's is one of qb's too, or has an answer.
func TestHabits(t *testing.T) {
	data, err := os.ReadFile("qube/testdata/qube.tsv")
	if err != nil {
		t.Fatal(err)
	}
	commands, options := 0, 0
	for line := range strings.Lines(string(data)) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(name, "#") {
			continue
		}
		cmd := newRoot()
		for _, word := range strings.Fields(name) {
			if cmd != nil {
				cmd = commandline.Child(cmd, word)
			}
		}
		if rest == "" {
			commands++
			if _, found := qube.Command("qb" + name); found == (cmd != nil) {
				t.Errorf("qb%s: answer %t, command %t; one of them is wanted", name, found, cmd != nil)
			}
			continue
		}
		if cmd == nil {
			continue // the command is answered
		}
		have := map[string]bool{}
		commandline.VisitOptions(cmd, func(f *pflag.Flag) { have[f.Name] = true })
		for _, option := range strings.Fields(rest) {
			options++
			if _, _, err := rewriteOne(name, option); have[option] == (err != nil && strings.Contains(err.Error(), "Qube")) {
				t.Errorf("qb%s -%s: qb has it: %t; it is answered: %v", name, option, have[option], err)
			}
		}
	}
	if commands != 40 || options < 250 {
		t.Errorf("%d commands and %d options", commands, options)
	}
}

func rewriteOne(name, option string) ([]string, int, error) {
	return commandline.Rewrite(newRoot(), append(strings.Fields(name), "-"+option, "1"))
}

// TestHabitsAreNotSwallowed: what Qube's users type is not taken for something else.
func TestHabitsAreNotSwallowed(t *testing.T) {
	for words, want := range map[string]string{
		"modify --mcpus +2 12":    "-mcpus +2: nothing can be added to the present value; give the number itself",
		"modify -mmax_cpus=+2 12": "-mmax_cpus +2: nothing can be added to the present value; give the number itself",
		"kill -b 12":              "option -b may be any of -blocked, -badlogin (Qube's); write more of it",
		"kill -badlogin 12":       "-badlogin is an option of Qube's that qb kill has not: qb has no such state: what cannot log in as its owner fails, or runs elsewhere",
		"hosts --panic":           "-panic is an option of Qube's that qb hosts has not: there is no such state; qbhosts -json has a remark on a worker that cannot work",
		"qbupdateworkcount 12":    "qbupdateworkcount is a command of Qube's that qb has not: counts are always derived from the items; there is nothing to update",
		"hash":                    "qbhash is a command of Qube's that qb has not: qb stores no passwords: users have tokens, made by qbadmin token create",
	} {
		if got, _, err := commandline.Rewrite(newRoot(), strings.Fields(words)); err == nil || err.Error() != want {
			t.Errorf("%s: %q, %v", words, got, err)
		}
	}
	args := []string{"jobs", "-fields", "id,timesubmit"}
	if err := execute(t.Context(), append([]string{"qb"}, args...), args, io.Discard, io.Discard); err == nil || err.Error() != `-fields: no field "timesubmit"; its name is submitted_at` {
		t.Errorf("-fields timesubmit: %v", err)
	}
	if got, _, err := commandline.Rewrite(newRoot(), []string{"jobs", "-u", "me"}); err != nil || !slices.Equal(got, []string{"jobs", "--user=me"}) {
		t.Errorf("jobs -u me: %q, %v", got, err)
	}
}
