package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killStrays looks for processes of the farm or of its items; there should be none. What is there all the
// same is killed, and the log says so.
func killStrays(state, out string) error {
	var strays map[int]string
	for deadline := time.Now().Add(killedMax); ; time.Sleep(50 * time.Millisecond) {
		strays = findStrays(state, out)
		if len(strays) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			break
		}
	}
	var found []string
	for pid, command := range strays {
		found = append(found, fmt.Sprintf("%d (%s)", pid, command))
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	return fmt.Errorf("still running after the farm had stopped, and killed: %s", strings.Join(found, ", "))
}

// findStrays are the processes other than this one and its parent that belong to this run.
func findStrays(state, out string) map[int]string {
	found := map[int]string{}
	entries, _ := os.ReadDir("/proc") // without /proc there is nothing to look at
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || pid == os.Getppid() {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline")) // it may have ended
		command := strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
		if strings.Contains(command, state) || writesTo(e.Name(), state, out) {
			found[pid] = command
		}
	}
	return found
}

// writesTo tells whether a process's output goes to one of the folders. A viewer of the pictures only reads
// them, and is left alone.
func writesTo(pid string, folders ...string) bool {
	for _, fd := range []string{"1", "2"} {
		target, err := os.Readlink(filepath.Join("/proc", pid, "fd", fd))
		for _, folder := range folders {
			if err == nil && folder != "" && strings.HasPrefix(target, folder+"/") {
				return true
			}
		}
	}
	return false
}
