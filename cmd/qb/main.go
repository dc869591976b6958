package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/qube"
	"qb/cmd/qb/watch"
)

// links are the names under which the program is also installed, except those of full: qbNAME is `qb NAME`.
var links = []string{
	"sub", "modify", "jobs", "items", "instances", "hosts", "kill", "retry", "requeue", "redo", "block", "unblock",
	"interrupt", "preempt", "suspend", "resume", "migrate", "retire", "shove", "top", "bottom", "complete", "fail",
	"remove", "wait", "hist", "summary", "tree", "lock", "unlock", "users", "login", "logout", "archive", "joborder",
	"configfile", "out", "err", "ping", "share", "stats", "updateresource", "admin",
}

// full is what the client build (go build -tags client) is without: what runs a farm. cmd_service.go fills it in.
var full struct {
	commands func() []*cobra.Command
	links    []string
	shim     func(words []string) (code int)
}

// linkedCommands are the commands that have links.
func linkedCommands() []string { return slices.Concat(links, full.links) }

func main() {
	// A stopped reader, such as head, ends a listing quietly through a write error, not a signal that
	// would also end a farm whose log goes to a pipe.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(os.Args))
}

// run is the whole program: argv in, exit code out.
func run(argv []string) int {
	program := strings.TrimSuffix(filepath.Base(argv[0]), ".exe")
	if full.shim != nil && len(argv) > 1 && argv[1] == "shim" && (program == "qb" || program == "qbworker") {
		return full.shim(argv[2:]) // before anything else: a shim must stay small
	}
	args := linkedArgs(program, argv[1:])
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := execute(ctx, argv, args, os.Stdout, os.Stderr)
	if err == nil || readerGone(err) {
		return 0
	}
	code := exitCode(ctx, err)
	if !errors.Is(err, commandline.ErrSilent) && code != interrupted {
		fmt.Fprintln(os.Stderr, shownAs(program, args)+": "+err.Error())
	}
	return code
}

// readerGone says that the reader of standard output has closed it.
func readerGone(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && path.Path == os.Stdout.Name() && pipeClosed(err)
}

// interrupted is the exit code by which a shell reports a program that Ctrl-C ended.
const interrupted = 130

func exitCode(ctx context.Context, err error) int {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil || errors.Is(err, watch.ErrLeft) {
		return interrupted
	}
	return api.ExitCode(err)
}

// linkedArgs puts the command that a link is named for before the words given.
func linkedArgs(program string, args []string) []string {
	name, ok := strings.CutPrefix(program, "qb")
	if program == openjdName {
		return withCommand(openjdName, args)
	}
	if _, habit := qube.Command(name); !ok || !habit && !slices.Contains(linkedCommands(), name) {
		return args
	}
	return withCommand(name, args)
}

// withCommand puts a command before the words given, behind the word that asks for a completion.
func withCommand(name string, args []string) []string {
	if len(args) > 0 && args[0] == completeWord {
		return append([]string{args[0], name}, args[1:]...)
	}
	return append([]string{name}, args...)
}

// shownAs is how an error names the program: as the user called it.
func shownAs(program string, args []string) string {
	if program == "qb" && len(args) > 0 && commandline.Child(newRoot(), args[0]) != nil {
		return "qb " + args[0]
	}
	return program
}

// execute runs the words of a command line; argv is that line as it was typed.
func execute(ctx context.Context, argv, args []string, out, errOut io.Writer) error {
	root := newRoot()
	root.SetOut(out)
	root.SetErr(errOut)
	if len(args) > len(argv)-1 {
		root.Annotations = map[string]string{commandline.ByLink: filepath.Base(argv[0])}
	}
	if len(args) > 0 && args[0] == completeWord {
		return completeLine(ctx, root, args, out)
	}
	if err := leftOut(root, args); err != nil {
		return err
	}
	words, at, err := commandline.Rewrite(root, args)
	if err != nil {
		return err
	}
	root.SetArgs(words)
	return root.ExecuteContext(withTyped(ctx, argv, args, at))
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "qb",
		Short:         "Run jobs on a render farm, and run the farm",
		Version:       api.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentFlags().String("conf", "", "`FILE` with the configuration (default: QB_CONF, else /etc/qb.conf, ~/.config/qb/qb.conf and, with restrictions, ./qb.conf; later files override earlier ones)")
	root.PersistentFlags().String("supervisor", "", "`URL` or unix:PATH of the supervisor, several separated by commas (default: QB_SUPERVISOR, then client_supervisor, then farm.json)")
	root.SetFlagErrorFunc(commandline.FlagError)
	root.SetHelpFunc(commandline.PrintHelp)
	root.SetUsageFunc(func(cmd *cobra.Command) error { commandline.PrintHelp(cmd, nil); return nil })
	root.SetVersionTemplate("qb version {{.Version}}\n")
	root.InitDefaultVersionFlag()
	for _, cmd := range clientCommands() {
		cmd.Version = root.Version
		cmd.InitDefaultVersionFlag()
		root.AddCommand(cmd)
	}
	root.AddCommand(newConfigCommand(), newCompletionCommand(), newLinksCommand())
	if full.commands != nil {
		root.AddCommand(full.commands()...)
	}
	root.SetHelpCommand(commandline.HelpCommand(root))
	root.InitDefaultHelpCmd()
	groupCommands(root)
	return root
}

func clientCommands() []*cobra.Command {
	commands := []*cobra.Command{
		newSubCommand(), newModifyCommand(), newJobsCommand(), newItemsCommand(), newInstancesCommand(), newHostsCommand(),
		newOutCommand("out", "stdout"), newOutCommand("err", "stderr"),
		newPingCommand(), newLockCommand(true), newLockCommand(false), newAdminCommand(),
		newHistoryCommand(), newWaitCommand(), newExplainCommand(), newSnapshotCommand(), newWatchCommand(),
		newShareCommand(), newProfileCommand(), newResourcesCommand(), newUpdateResourceCommand(), newSummaryCommand(),
		newStatsCommand(), newWhatIfCommand(), newTreeCommand(), newLoginCommand(), newLogoutCommand(), newOpenCommand(),
		newUsersCommand(), newArchiveCommand(), newJobOrderCommand(), newConfigFileCommand(), newWorkCommand(),
		newOpenJDCommand(), newTypeCommand(),
	}
	return append(commands, newActionCommands()...)
}
