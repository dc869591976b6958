//go:build unix

package find

import (
	"errors"
	"syscall"
)

// gone says whether a process has ended for sure.
func gone(pid int) bool { return pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
