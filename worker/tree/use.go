package tree

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"qb/worker/proc"
)

const clockTicks = 100 // per second in /proc, on every architecture Go runs on

// Use is what descends from a process, with its resident bytes and its seconds of processor time.
func Use(root int) (family []int, resident int64, cpu float64) {
	family = proc.Family(root)
	for _, pid := range family {
		resident += residentBytes(pid)
		if p, ok := proc.Read(pid); ok {
			cpu += float64(p.Ticks) / clockTicks
		}
	}
	return family, resident, cpu
}

// residentBytes is cheap: the kernel keeps the number.
func residentBytes(pid int) int64 {
	data, err := proc.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(data)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// Proportional is the proportional set size of a process, which counts shared pages once. It falls back on the resident
// size where the kernel refuses, as for a setuid program.
func Proportional(pid int) int64 {
	if bytes := sizeIn("/proc/"+strconv.Itoa(pid)+"/smaps_rollup", "Pss:"); bytes > 0 {
		return bytes
	}
	return residentBytes(pid)
}

// OwnPeak is the largest this program has been since it began. (The peak in its resource usage is of no
// use: exec hands on the peak of the program that forked it, here the agent's.)
func OwnPeak() int64 { return Peak(os.Getpid()) }

// Peak is the largest a process has been since it began, or since ResetPeak.
func Peak(pid int) int64 { return sizeIn("/proc/"+strconv.Itoa(pid)+"/status", "VmHWM:") }

// ResetPeak has the kernel count a process's peak from now on, and says whether it does. A process that has ended has
// none.
func ResetPeak(pid int) bool {
	err := proc.WriteFile("/proc/"+strconv.Itoa(pid)+"/clear_refs", "5")
	return err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}

// sizeIn is a size in a file of the kernel's, which has it in kB behind its name; 0 if it is not there.
func sizeIn(path, name string) int64 {
	data, _ := proc.ReadFile(path)
	for line := range bytes.Lines(data) {
		if words := bytes.Fields(line); len(words) == 3 && string(words[0]) == name {
			n, _ := strconv.ParseInt(string(words[1]), 10, 64)
			return n * 1024
		}
	}
	return 0
}
