package worker

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"qb/worker/proc"
	"qb/worker/tree"
)

// otherAgents sums up what items of other agents on this machine have, and the seconds of processor time that they had:
// of what descends from shims whose folders are not below root. Their kernel numbers are world-readable; pages that
// several share count in each.
func otherAgents(root string) (memory int64, seconds float64) {
	for _, p := range proc.All() {
		if p.Parent != 2 && foreignShim(p.PID, root) {
			_, resident, cpu := tree.Use(p.PID)
			memory += resident
			seconds += cpu
		}
	}
	return memory, seconds
}

// foreignShim says whether a process is the shim of another agent: PROGRAM shim FOLDER/i/JOB.N. Anybody may call a
// process so; believed is one of root or of our own user that holds the lock of its folder, which is its own.
func foreignShim(pid int, root string) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return false
	}
	words := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	if len(words) != 3 || words[1] != "shim" || filepath.Base(filepath.Dir(words[2])) != "i" ||
		strings.HasPrefix(words[2], root+"/") {
		return false
	}
	var process, folder unix.Stat_t
	if unix.Stat("/proc/"+strconv.Itoa(pid), &process) != nil {
		return false
	}
	if process.Uid != 0 && process.Uid != uint32(os.Geteuid()) {
		return false
	}
	switch err := unix.Lstat(words[2], &folder); {
	case err == unix.EACCES:
		return process.Uid == 0 // root's folder is closed to us
	case err != nil || folder.Uid != process.Uid:
		return false
	}
	_, err = os.Stat(filepath.Join(words[2], "intent"))
	return err == nil && !lockFree(words[2])
}
