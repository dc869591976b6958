//go:build !client

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"qb/api"
)

// newBenchCommand is qb bench, a program of its own, which is not part of the packages.
func newBenchCommand() *cobra.Command {
	return &cobra.Command{
		Use: "bench", Short: "Benchmark a farm: real supervisor, Postgres and HTTP, simulated hosts",
		DisableFlagParsing: true, // its options are the program's to read
		RunE: func(_ *cobra.Command, words []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			program := filepath.Join(filepath.Dir(self), "qb-bench")
			err = syscall.Exec(program, append([]string{"qb-bench"}, words...), os.Environ())
			if errors.Is(err, fs.ErrNotExist) {
				return api.Errorf(api.KindConflict,
					"there is no %s: packages leave it out; make build in the sources of qb makes bin/qb and bin/qb-bench, or copy it there", program)
			}
			return api.Errorf(api.KindConflict, "starting %s: %v", program, err)
		},
	}
}
