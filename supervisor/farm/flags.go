package farm

import (
	"fmt"
	"slices"
	"strings"
)

// Flags of jobs that qb acts on.
const (
	flagHardLimit       = "memory_hard_limit"  // instances are killed at their need, which is never under the stated one
	flagUninterruptible = "uninterruptible"    // primaries go on, whatever the priority of others
	flagElite           = "elite"              // likewise
	flagExport          = "export_environment" // qbsub sends the environment along
)

// Flags are the names of the job flags that qb acts on.
var Flags = []string{flagElite, flagExport, flagHardLimit, flagUninterruptible}

// PassedOver are Qube's other job flags: scripts may name them, but they have no effect, of which the user is warned.
var PassedOver = []string{"auto_mount", "auto_wrangling", "convert_path", "disable_auto_complete", "disable_cpu_limit",
	"disable_windows_job_object", "enable_windows_job_object", "expand", "export_job_type", "grid", "host_list", "mail",
	"migrate_on_frame_retry", "no_defaults", "p_agenda", "thrifty"}

func (j *job) hasFlag(name string) bool { return slices.Contains(j.Flags, name) }

// hardLimit says whether the job's instances are killed at their need: nobody is on a guess, so a need must
// have been stated.
func (j *job) hardLimit() bool { return j.needs.Memory > 0 && j.hasFlag(flagHardLimit) }

// kept says whether a better priority leaves the job's primaries alone.
func (j *job) kept() bool { return j.hasFlag(flagUninterruptible) || j.hasFlag(flagElite) }

// flagRemarks tell of flags that do nothing.
func (j *job) flagRemarks() (remarks []string) {
	var passed []string
	for _, name := range j.Flags {
		if slices.Contains(PassedOver, name) {
			passed = append(passed, name)
		}
	}
	if len(passed) > 0 {
		remarks = append(remarks, fmt.Sprintf("flags without effect in qb: %s", strings.Join(passed, ", ")))
	}
	if j.hasFlag(flagHardLimit) && !j.hardLimit() {
		remarks = append(remarks, "memory_hard_limit has no effect without a memory reservation; add -reservations host.memory=4GB")
	}
	return remarks
}
