package worker

import (
	"fmt"
	"os"
	"os/user"
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v4/mem"
	"golang.org/x/sys/unix"

	"qb/api"
	"qb/units"
	"qb/worker/cgroup"
)

// machineID is equal for all agents of one machine and differs between machines: systemd's id, else
// D-Bus's, else the board's, else the host's name.
func machineID(hostname string) string {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id", "/sys/class/dmi/id/product_uuid"} {
		if data, err := os.ReadFile(path); err == nil {
			if id := strings.TrimSpace(string(data)); id != "" && id != "uninitialized" {
				return id
			}
		}
	}
	return "host:" + hostname
}

// cores is what the scheduler lets this process use.
func cores() int { return runtime.NumCPU() }

// hostMemory is the machine's memory. Available is the kernel's own estimate of what can be had without
// swapping.
func hostMemory() (api.SyncMemory, error) {
	m, err := mem.VirtualMemory()
	if err != nil {
		return api.SyncMemory{}, fmt.Errorf("reading the host's memory: %w", err)
	}
	memory := api.SyncMemory{Total: int64(m.Total), Available: int64(m.Available)}
	if limit, left, ok := cgroup.OwnLimit(); ok && limit < memory.Total {
		memory.Total, memory.Available = limit, min(left, memory.Available)
	}
	return memory, nil
}

// refusing says why nothing new may start here, or nothing at all.
func refusing(state string, floor units.Bytes) string {
	var fs unix.Statfs_t
	if err := unix.Statfs(state, &fs); err != nil {
		return fmt.Sprintf("the worker's state folder %s cannot be read: %v", state, err)
	}
	if free := int64(fs.Bavail) * fs.Bsize; free < int64(floor) {
		return fmt.Sprintf("only %s are free on the disk of %s, and worker_disk_floor is %s", units.Size(free), state, floor)
	}
	return ""
}

// agentUser is the name of the user the agent runs as; its number where it has none.
func agentUser() string {
	u, err := user.Current()
	if err != nil {
		return fmt.Sprint(os.Geteuid())
	}
	return u.Username
}
