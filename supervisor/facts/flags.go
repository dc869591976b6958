package facts

// Flags of jobs that qb acts on.
const (
	FlagHardLimit       = "memory_hard_limit"      // instances are killed at their need, which is never under the stated one
	FlagUninterruptible = "uninterruptible"        // primaries go on, whatever the priority of others
	FlagElite           = "elite"                  // likewise
	FlagExport          = "export_environment"     // qbsub sends the environment along
	FlagMigrate         = "migrate_on_frame_retry" // the job avoids a host for a while as soon as an item of it that is retried has failed there
)

// Flags are the names of the job flags that qb acts on.
var Flags = []string{FlagElite, FlagExport, FlagHardLimit, FlagMigrate, FlagUninterruptible}

// PassedOver are Qube's other job flags: scripts may name them, but they have no effect, of which the user is warned.
var PassedOver = []string{"auto_mount", "auto_wrangling", "convert_path", "disable_auto_complete", "disable_cpu_limit",
	"disable_windows_job_object", "enable_windows_job_object", "expand", "export_job_type", "grid", "host_list", "mail",
	"no_defaults", "p_agenda", "thrifty"}
