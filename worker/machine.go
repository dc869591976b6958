package worker

import (
	"maps"
	"os"
	"regexp"
	"runtime"

	"golang.org/x/sys/unix"
)

// properties are what requirements may ask of this machine: what the kernel says of it, and over that what
// qb.conf says.
func (c Config) properties() map[string]string {
	all := map[string]string{"os": runtime.GOOS}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		all["architecture"] = unix.ByteSliceToString(name.Machine[:])
		all["kernel_version"] = unix.ByteSliceToString(name.Release[:])
	}
	maps.Copy(all, c.Properties)
	return all
}

// resources are what qb.conf gives jobs to reserve, the GPUs found where it does not speak of them, and the swap space.
func (c Config) resources(gpus int, swap int64) map[string]int {
	all := maps.Clone(c.Resources)
	if all == nil {
		all = map[string]int{}
	}
	if _, said := all["gpus"]; !said && gpus > 0 {
		all["gpus"] = gpus
	}
	if swap > 0 {
		all["swap"] = int(swap)
	}
	if c.Scratch > 0 {
		all["scratch"] = int(c.Scratch)
	}
	return all
}

var gpuFile = regexp.MustCompile(`^nvidia[0-9]+$`)

// countGPUs counts the device files of GPUs. In a container that is what it was given; CUDA numbers those
// from 0, as the supervisor does.
func countGPUs(dev string) int {
	entries, err := os.ReadDir(dev)
	if err != nil {
		return 0 // no devices can be seen: none are offered
	}
	n := 0
	for _, e := range entries {
		if gpuFile.MatchString(e.Name()) {
			n++
		}
	}
	return n
}
