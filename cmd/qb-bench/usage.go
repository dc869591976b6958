package main

import (
	"fmt"
	"os"
	"strings"

	"qb/worker/proc"
)

// Usage is what processes have used: CPU seconds of one, of all below it, and its peak resident bytes.
type Usage struct {
	Self, Children float64
	Peak           int64
}

// cpuOf reads a process and everything below it; Postgres is the only child of a farm without workers.
func cpuOf(pid int) Usage {
	u := Usage{Self: cpuSeconds(pid)}
	for _, child := range proc.Descendants(pid) {
		u.Children += seconds(child)
	}
	if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
		for line := range strings.Lines(string(status)) {
			var kib int64
			if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
				u.Peak = kib << 10
			}
		}
	}
	return u
}

// ticksPerSecond is USER_HZ, 100 on every Linux port that Go has.
const ticksPerSecond = 100

// cpuSeconds is user and system time of the process and of its children that were waited for.
func cpuSeconds(pid int) float64 {
	p, _ := proc.Read(pid)
	return seconds(p)
}

func seconds(p proc.Process) float64 { return float64(p.Ticks) / ticksPerSecond }
