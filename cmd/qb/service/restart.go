package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"qb/cmd/qb/commandline"
	"qb/internal/limitwriter"
	"qb/internal/statedir"
	"qb/worker/proc"
)

// Limits of a look at the configuration before a restart.
const (
	checkWithin  = 10 * time.Second
	maxComplaint = 2 << 10 // bytes
)

// restartArgs start a worker as this one was started. It has joined, and its token may be gone.
func restartArgs(cmd *cobra.Command) []string {
	left := []string{"join", "token"}
	if cmd.Flags().Changed("join") {
		left = append(left, "token_file")
	}
	return append([]string{"qb", "worker"}, commandline.Given(cmd, left...)...)
}

// checkWorker asks the program that would run, which may be a newer one, whether it could.
func checkWorker(ctx context.Context, args []string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	return checkProgram(ctx, program, args)
}

// checkProgram runs the program, which has all rights of this one, only if no other user can have put it there.
func checkProgram(ctx context.Context, program string, args []string) error {
	if err := statedir.Program(program); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	said := limitwriter.Buffer{Most: maxComplaint}
	child := exec.CommandContext(ctx, program, args[1:]...)
	child.Args = append(slices.Clone(args), "--check")
	child.Stderr, child.WaitDelay = &said, time.Second
	switch err := child.Run(); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("checking the configuration took longer than %s", checkWithin)
	case len(said.Bytes()) > 0:
		return errors.New(strings.TrimSpace(string(said.Bytes())))
	default:
		return fmt.Errorf("%s: %w", program, err)
	}
}

// becomeWorker replaces this process by the program that is there now. It returns only if that fails.
func becomeWorker(args []string) error {
	program, err := os.Executable()
	if err == nil {
		err = statedir.Program(program)
	}
	if err == nil {
		err = syscall.Exec(program, args, os.Environ())
	}
	return fmt.Errorf("starting this worker again: %w", err)
}

// reapShims waits for the shims that this process started before it became this program; no other process can. It
// has no other children yet.
func reapShims() {
	for _, p := range proc.All() {
		if p.Parent != os.Getpid() {
			continue
		}
		if child, err := os.FindProcess(p.PID); err == nil {
			go child.Wait()
		}
	}
}
