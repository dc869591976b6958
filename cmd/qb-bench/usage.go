package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"

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

// benchLoad is how busy the machine was: averages of a minute, before the run, and the mean of those during it.
type benchLoad struct {
	Before float64 `json:"before"`
	During float64 `json:"during"`
}

func loadAverage() (load float64) {
	text, _ := os.ReadFile("/proc/loadavg") // 0 where there is none
	fmt.Sscan(string(text), &load)
	return load
}

// machineCPU is what all processes and the kernel have used since the boot, in seconds of a processor.
func machineCPU() (seconds float64) {
	text, _ := os.ReadFile("/proc/stat") // 0 where there is none
	var name string
	var user, nice, system, idle, wait, interrupts, soft float64
	fmt.Sscan(string(text), &name, &user, &nice, &system, &idle, &wait, &interrupts, &soft)
	return (user + nice + system + interrupts + soft) / ticksPerSecond
}

// ownCPU is what this process and all its children that it has waited for have used, in seconds.
func ownCPU() (total float64) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			total += float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
		}
	}
	return total
}
