//go:build !client

package main

import (
	"github.com/spf13/cobra"

	"qb/cmd/qb/service"
	"qb/worker/shim"
)

// The commands that link supervisor and worker, or are for developers of qb.
func init() {
	full.shim = shim.Main
	full.links = []string{"worker", "supervisor"}
	full.commands = func() []*cobra.Command {
		asks := func(cmd *cobra.Command) service.Supervisor { return connect(cmd) }
		return append(service.Commands(asks), newManCommand(), newBenchCommand())
	}
}
