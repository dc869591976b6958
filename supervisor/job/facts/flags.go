package facts

import (
	"slices"
	"strconv"
)

// Flags of jobs that qb acts on.
const (
	// instances are killed at their need, which is never under the stated one
	FlagHardLimit       = "memory_hard_limit"
	FlagUninterruptible = "uninterruptible" // primaries go on, whatever the priority of others
	// needs the right, too; primaries start even on a full farm, before all others
	FlagElite  = "elite"
	FlagExport = "export_environment" // qbsub sends the environment along
	// the job avoids a host for a while as soon as an item of it that is retried has failed there
	FlagMigrate     = "migrate_on_frame_retry"
	FlagHostList    = "host_list"             // a job is made for each of the hosts
	FlagPAgenda     = "p_agenda"              // some items become a job of their own, to be seen first
	FlagConvertPath = "convert_path"          // workers map paths by their worker_path_map
	FlagNoDefaults  = "no_defaults"           // supervisor_job_flags are not added
	FlagMail        = "mail"                  // a mail is sent when the job has ended
	FlagStaysOpen   = "disable_auto_complete" // the job does not end with its items: a person completes or kills it
	FlagWrangling   = "auto_wrangling"        // the job avoids hosts where supervisor_avoid_after is off
	// a new job without max_cpus of its own has no limit, whatever the site's default
	FlagExpand = "expand"
)

// Flags are the names of the job flags that qb acts on.
var Flags = []string{FlagWrangling, FlagConvertPath, FlagStaysOpen, FlagElite, FlagExpand, FlagExport, FlagHardLimit,
	FlagHostList, FlagMail, FlagMigrate, FlagNoDefaults, FlagPAgenda, FlagUninterruptible}

// PassedOver are Qube's other job flags: scripts may name them, but they have no effect, of which the user is warned.
var PassedOver = []string{"auto_mount", "disable_cpu_limit",
	"disable_windows_job_object", "enable_windows_job_object", "export_job_type", "grid", "thrifty"}

// Elite is the effective priority of elite jobs. It is better than all other priorities.
const Elite = 0

// Elite says whether the job starts even on a full farm.
func (j *JobFacts) Elite() bool { return slices.Contains(j.Flags, FlagElite) }

// Standing is the job's effective priority in plans.
func (j *JobFacts) Standing() int {
	if j.Elite() {
		return Elite
	}
	return j.Priority
}

// SettingFlags are the flags of a setting. Qube's default there, auto_mount, is passed over without a word.
func SettingFlags(text string) []string {
	return slices.DeleteFunc(SplitList(text), func(flag string) bool { return flag == "auto_mount" })
}

// flagBits are Qube's flags in the order of their bits, from 1.
var flagBits = []string{FlagUninterruptible, FlagHardLimit, "grid", "auto_mount", FlagExport, FlagExpand, "thrifty",
	"export_job_type", FlagHostList,
	FlagElite, FlagMail, "disable_windows_job_object", "disable_cpu_limit", FlagStaysOpen, FlagWrangling, FlagPAgenda,
	FlagMigrate,
	FlagConvertPath, "enable_windows_job_object", FlagNoDefaults}

// MostFlags is the number of all of Qube's flags.
var MostFlags = 1<<len(flagBits) - 1

// FlagsOf are the names of the flags of a number in Qube; false if it is none.
func FlagsOf(text string) (names []string, ok bool) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > MostFlags {
		return nil, false
	}
	for bit, name := range flagBits {
		if n>>bit&1 == 1 {
			names = append(names, name)
		}
	}
	return names, true
}

// flagNames are flags by name, each once, of which some may be given as numbers.
func flagNames(flags []string) (names []string) {
	for _, flag := range flags {
		named, numbered := FlagsOf(flag)
		if !numbered {
			named = []string{flag}
		}
		for _, name := range named {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
