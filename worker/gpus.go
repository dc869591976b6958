package worker

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// deviceFolder is where the device files of GPUs are.
const deviceFolder = "/dev"

// findGPUs counts the machine's GPUs, unless another worker offers them: all workers of a machine would give the same
// ones. A worker holds a lock on the folder of the devices for as long as it runs.
func (a *agent) findGPUs(dev string, theirs bool) {
	found := countGPUs(dev)
	said, configured := a.config.Resources["gpus"]
	switch {
	case configured && said == 0, !configured && found == 0:
		return
	case !theirs:
		var err error
		if theirs, err = lockDevices(dev); err != nil {
			a.log.Warn("the worker offers the machine's GPUs, but cannot find out whether another worker offers them too; if so, set gpus = 0 in worker_resources of one", "error", err)
		}
	}
	switch {
	case theirs && configured:
		a.log.Warn("another worker of this machine offers its GPUs too, so two items may get the same device; set gpus = 0 in worker_resources of one", "gpus", said)
	case theirs:
		a.log.Info("no GPUs are offered: another worker of this machine offers them", "gpus", found)
		a.gpusElsewhere = true
	default:
		a.gpus = found
	}
}

// hidesGPUs says whether items that hold no GPU see none: where this worker, or another one of the machine, gives them.
func (a *agent) hidesGPUs() bool {
	_, configured := a.config.Resources["gpus"]
	return resourcesOf(a.config, a.gpus, 0)["gpus"] > 0 || a.gpusElsewhere && !configured
}

// lockDevices takes the lock for the life of this process and says whether another worker has it. Any user of the
// machine can lock the folder, so a lock counts only if it is root's or this worker's user's.
func lockDevices(dev string) (theirs bool, err error) {
	fd, err := unix.Open(dev, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) // never closed
	if err != nil {
		return false, err
	}
	if err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err == nil {
		return false, nil
	}
	defer unix.Close(fd)
	if err != unix.EWOULDBLOCK {
		return false, err
	}
	var folder unix.Stat_t
	if err := unix.Fstat(fd, &folder); err != nil {
		return false, err
	}
	table, err := os.ReadFile("/proc/locks")
	if err != nil {
		return true, nil // by whom cannot be seen
	}
	pids := lockers(table, folder.Dev, folder.Ino)
	if len(pids) == 0 {
		return true, nil // by a process outside of this container
	}
	for _, pid := range pids {
		info, err := os.Stat("/proc/" + pid)
		if err != nil {
			continue // no worker: it took the lock for others, and ended
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; uid == 0 || uid == uint32(os.Geteuid()) {
			return true, nil
		}
	}
	return false, fmt.Errorf("process %s, which is no worker of root or of this user, has locked %s", pids[0], dev)
}

// lockers are the processes that the kernel's table names for a lock on a file.
func lockers(table []byte, dev, inode uint64) (pids []string) {
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(dev), unix.Minor(dev), inode)
	for line := range bytes.Lines(table) {
		fields := strings.Fields(string(line)) // 1: FLOCK ADVISORY WRITE 4567 00:05:1 0 EOF
		if len(fields) >= 6 && fields[1] == "FLOCK" && fields[5] == file {
			pids = append(pids, fields[4])
		}
	}
	return pids
}
