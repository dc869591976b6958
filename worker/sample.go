package worker

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/mem"

	"qb/api"
	"qb/internal/statedir"
	"qb/internal/units"
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

// swapSeen is what was swapped until a look.
type swapSeen struct {
	bytes uint64
	at    time.Time
}

// since is the machine's swap now, and how much was swapped since the last look. A machine that does not say has none.
func (s *swapSeen) since() api.SyncSwap {
	m, err := mem.SwapMemory()
	if err != nil {
		return api.SyncSwap{}
	}
	swap, now, bytes := api.SyncSwap{Total: int64(m.Total), Used: int64(m.Used)}, time.Now(), m.Sin+m.Sout
	if passed := now.Sub(s.at).Seconds(); !s.at.IsZero() && passed > 0 && bytes >= s.bytes {
		swap.Rate = int64(float64(bytes-s.bytes) / passed)
	}
	s.bytes, s.at = bytes, now
	return swap
}

// busySeen is what processors had done until a look, in seconds.
type busySeen struct {
	all, others float64
	at          time.Time
}

// since is how many processors were in use since the last look: of the machine, and by items of other agents.
func (b *busySeen) since(others float64) (busy, byOthers float64) {
	times, err := cpu.Times(false)
	if err != nil || len(times) == 0 {
		return 0, 0
	}
	t, now := times[0], time.Now()
	all := t.User + t.Nice + t.System + t.Irq + t.Softirq // guests are in user
	if passed := now.Sub(b.at).Seconds(); !b.at.IsZero() && passed > 0 {
		busy, byOthers = max(0, all-b.all)/passed, max(0, others-b.others)/passed
	}
	b.all = all
	b.others = others
	b.at = now
	return busy, byOthers
}

// refusing says why nothing new may start here, or nothing at all.
func refusing(state string, floor units.Bytes) string {
	free, _, err := statedir.Room(state)
	if err != nil {
		return fmt.Sprintf("the worker's state folder %s cannot be read: %v", state, err)
	}
	if free < int64(floor) {
		return fmt.Sprintf("only %s are free on the disk of %s, and worker_disk_floor is %s", units.Size(free), state, floor)
	}
	return ""
}
