package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"qb/api"
	"qb/cmd/qb/commandline"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	root := newCommand()
	root.AddCommand(newHostsCommand(), newTablesCommand(), newLoadedCommand())
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(commandline.FlagError)
	root.SetHelpFunc(commandline.PrintHelp)
	words, _, err := commandline.Rewrite(root, os.Args[1:])
	if err == nil {
		root.SetArgs(words)
		err = root.ExecuteContext(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "qb-bench: "+err.Error())
		os.Exit(api.ExitCode(err))
	}
}
