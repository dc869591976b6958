package bench

import (
	"fmt"
	"os"
	"strings"
)

// Usage is what processes have used: CPU seconds of one, of all below it, and its peak resident bytes.
type Usage struct {
	Self, Children float64
	Peak           int64
}

// CPUOf reads a process and everything below it; Postgres is the only child of a farm without workers.
func CPUOf(pid int) Usage {
	u := Usage{Self: cpuSeconds(pid)}
	for _, child := range Descendants(pid) {
		u.Children += cpuSeconds(child)
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

// procStat are the fields of /proc/PID/stat after the command's name (proc(5)); state comes first.
func procStat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.Fields(rest)
}

// ticksPerSecond is USER_HZ, 100 on every Linux port that Go has.
const ticksPerSecond = 100

// cpuSeconds is user and system time of the process and of its children that were waited for.
func cpuSeconds(pid int) float64 {
	fields, sum := procStat(pid), 0.0
	for n := 11; n <= 14 && len(fields) > 14; n++ {
		var ticks float64
		_, _ = fmt.Sscan(fields[n], &ticks)
		sum += ticks / ticksPerSecond
	}
	return sum
}

// Descendants finds all processes below one.
func Descendants(pid int) []int {
	parents := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		var child, parent int
		if _, err := fmt.Sscan(e.Name(), &child); err != nil {
			continue
		}
		if fields := procStat(child); len(fields) > 1 {
			if _, err := fmt.Sscan(fields[1], &parent); err == nil {
				parents[parent] = append(parents[parent], child)
			}
		}
	}
	var all []int
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		all = append(all, parents[queue[0]]...)
		queue = append(queue, parents[queue[0]]...)
	}
	return all
}
