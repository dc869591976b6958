package shim

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"qb/worker/core"
)

// BootNow is the time since boot, suspended time included.
func BootNow() core.Moment {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(fmt.Sprintf("reading CLOCK_BOOTTIME: %v", err)) // no Linux since 2.6.39 refuses
	}
	return core.Moment(ts.Nano())
}

// BootID changes at each boot of the machine.
func BootID() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("reading the boot id: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}
