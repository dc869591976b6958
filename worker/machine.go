package worker

import (
	"maps"
	"math"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/internal/pathmap"
	"qb/worker/settings"
)

// properties are what requirements may ask of this machine: what the kernel says of it, and over that what
// qb.conf says.
func propertiesOf(c settings.Config) map[string]string {
	all := map[string]string{"os": runtime.GOOS}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		all["architecture"] = unix.ByteSliceToString(name.Machine[:])
		all["kernel_version"] = unix.ByteSliceToString(name.Release[:])
	}
	if speed := processorSpeed("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "/proc/cpuinfo"); speed != "" {
		all["processor_speed"] = speed
	}
	maps.Copy(all, c.Properties)
	if c.JobTypes != "" && c.JobTypes != "auto" {
		all["jobtypes"] = c.JobTypes
	}
	if c.Flags != "" {
		all["flags"] = c.Flags
	}
	if list := pathMapList(c.PathEntries()); list != "" {
		all[pathmap.HostProperty] = list
	}
	return all
}

// pathMapList writes entries of a path map as one list, and leaves those out that are too much for a property: jobs of
// other systems that need them do not come here.
func pathMapList(entries []string) (list string) {
	for _, entry := range entries {
		if strings.Contains(entry, ",") {
			entry = `"` + entry + `"`
		}
		if len(list)+len(entry) < api.MaxPath {
			list += entry + ","
		}
	}
	return strings.TrimSuffix(list, ",")
}

// processorSpeed is the speed of the first processor in MHz: its highest, else that of now in hundreds, as it changes
// all the time; "" if the kernel does not tell.
func processorSpeed(highest, cpuinfo string) string {
	if text, err := os.ReadFile(highest); err == nil {
		if khz, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && khz > 0 {
			return strconv.Itoa(khz / 1000)
		}
	}
	text, err := os.ReadFile(cpuinfo)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "cpu MHz" {
			if mhz, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && mhz > 0 {
				return strconv.Itoa(int(math.Round(mhz/100)) * 100)
			}
		}
	}
	return ""
}

// resources are what qb.conf gives jobs to reserve, the GPUs found where it does not speak of them, and the swap space.
func resourcesOf(c settings.Config, gpus int, swap int64) map[string]int {
	all := map[string]int{}
	maps.Copy(all, c.Resources)
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

var gpuFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^nvidia[0-9]+$`)
})

// countGPUs counts the device files of GPUs. In a container that is what it was given; CUDA numbers those
// from 0, as the supervisor does.
func countGPUs(dev string) int {
	entries, err := os.ReadDir(dev)
	if err != nil {
		return 0 // no devices can be seen: none are offered
	}
	n := 0
	for _, e := range entries {
		if gpuFile().MatchString(e.Name()) {
			n++
		}
	}
	return n
}
