package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"qb/api"
	"qb/internal/pathmap"
	"qb/internal/units"
)

// Ways of choosing a process's user.
const (
	RunAsAgent = "agent" // all as the agent's user
	RunAsOwner = "owner" // as the job's owner; needs root
)

// What follows from processors used by others.
const (
	ForeignIgnore = "ignore"
	ForeignSlots  = "slots"
)

// What happens to items on slots that are kept for people from now on.
const (
	KeptFinish = "finish"
	KeptReturn = "return"
)

// Config is what qb.conf says of a worker. The doc tags explain each key.
type Config struct {
	Name             string            `toml:"worker_name" doc:"Name of this host in the farm. qb farm adds a number for each local worker. Empty: the hostname."`
	CPUs             int               `toml:"worker_cpus" doc:"Number of slots. 0: the number of cores."`
	Cluster          string            `toml:"worker_cluster" doc:"Cluster of this host, such as /show. Jobs of near clusters go first."`
	Groups           []string          `toml:"worker_groups" doc:"Groups of this host for -groups and -omitgroups, such as [\"gpu\", \"big\"]."`
	Properties       map[string]string `toml:"worker_properties" doc:"Properties for -requirements, such as {site = \"attic\"}. os, architecture and kernel_version are detected."`
	JobTypes         string            `toml:"worker_job_types" doc:"Types of jobs that this host runs, separated by commas, of cmdline, cmdrange and loadonce; further names are for -requirements such as '\"maya\" in host.jobtypes'. Empty or auto: all."`
	Flags            string            `toml:"worker_flags" doc:"Names for -requirements such as host.flag.NAME, separated by commas."`
	Resources        map[string]int    `toml:"worker_resources" doc:"Resources for -reservations, such as {maya = 2}. Each instance gets GPUs of its own, and sees no others. Without gpus the worker counts the GPUs itself, unless another worker of the machine offers them. gpus = 0: it offers none, and its items see all."`
	Scratch          units.Bytes       `toml:"worker_scratch" doc:"Disk space that jobs may reserve as host.scratch, such as 500GiB. 0: none."`
	Memory           units.Bytes       `toml:"worker_memory" doc:"Maximum memory for all items of this worker, such as 2GiB. 0: all of the machine's."`
	MemoryReserve    units.Bytes       `toml:"worker_memory_reserve" doc:"Memory left free for people at the machine. It is not offered to jobs. If less is free, the item furthest above its need is ended. 0: none."`
	SwapLimit        units.Bytes       `toml:"worker_swap_limit" doc:"Bytes per second that the machine may swap in and out, such as 10MiB. Above it the worker takes no new items; if it goes on, the newest secondary instance is preempted. 0: no limit."`
	ForeignCPU       string            `toml:"worker_foreign_cpu" values:"ignore, slots" doc:"Effect of processors used by programs outside the farm. slots: the worker offers fewer slots while they are in use; what runs is not stopped. ignore: nothing."`
	Calendar         []string          `toml:"worker_calendar" doc:"Times of the week, in the host's local time, at which slots are kept for people, such as [\"mon-fri 09:00-18:00\", \"sat 22:00-06:00\"]. Days are mon to sun, a list such as sat,sun, or daily. Entries must not overlap."`
	Nimby            units.Span        `toml:"worker_nimby" doc:"Keep slots for people while somebody uses the host, and for this long after, such as 15m: by logind's idle hint and by when terminals were last typed into. 0: off."`
	KeptSlots        int               `toml:"worker_kept_slots" doc:"How many slots are kept at the times of worker_calendar and worker_nimby. 0: all."`
	KeptAction       string            `toml:"worker_kept_action" values:"finish, return" doc:"What happens to items on these slots. finish: they run to their end. return: they are stopped and run elsewhere, secondary instances first; no retry is used."`
	ReportInterval   units.Span        `toml:"worker_report_interval" doc:"Changes of free memory by more than 2 % or 256MiB, and of whether the host takes items, are reported within this time, smaller ones within 10s."`
	Spec             float64           `toml:"worker_spec" doc:"Speed of this host for fairshare; 1 is the reference. Run time on a slower host is charged less."`
	State            string            `toml:"worker_state" doc:"Folder for the worker's records and output, an absolute path. Empty: worker in the default state folder."`
	RunAs            string            `toml:"worker_run_as" doc:"Account under which items run. agent: the worker's. owner: the job owner's, which needs root. Empty: owner for a worker run by root, else agent."`
	AllowRoot        bool              `toml:"worker_allow_root" doc:"With worker_run_as = owner: run jobs of root, as root. A qb farm that root starts does, unless this is set to false."`
	LowestUID        int               `toml:"worker_lowest_uid" doc:"With worker_run_as = owner: users with a lower uid, and nobody, run no items here unless worker_low_users_file lists them. worker_allow_root decides for root. 0: only nobody is refused."`
	LowUsersFile     string            `toml:"worker_low_users_file" doc:"File, owned by root, that lists users who may run items here although worker_lowest_uid excludes them, one name per line. Empty: none."`
	NoNewPrivs       bool              `toml:"worker_no_new_privs" doc:"For a worker run by root: items gain no rights from setuid programs such as sudo. false: they do."`
	PrivateTmp       bool              `toml:"worker_private_tmp" doc:"For a worker run by root: give each item its own /tmp, removed at its end. false: only TMPDIR is its own."`
	Processes        int               `toml:"worker_processes" doc:"For a worker run by root: maximum number of processes and threads of one item. 0: no limit."`
	OpenFiles        int               `toml:"worker_open_files" doc:"For a worker run by root: maximum number of files that each process of an item may have open, within the hard limit of the worker. 0: as many as the worker."`
	CoreDumps        bool              `toml:"worker_core_dumps" doc:"For a worker run by root: let a crash of an item's process leave a core dump, which holds its memory. false: it leaves none."`
	ResourceCommand  []string          `toml:"worker_resource_command" doc:"Program, with an absolute path, and its arguments, that says how many licences are used outside of the farm, by lines such as: license.nuke 60 12 (60 exist, 12 are used outside). It may run for 30s and write 64KiB. The supervisor takes its word if supervisor_resource_hosts names this host. Empty: none."`
	ResourceUser     string            `toml:"worker_resource_user" doc:"Account under which worker_resource_command runs, for a worker run by root; not root."`
	ResourceInterval units.Span        `toml:"worker_resource_interval" doc:"Time between two runs of worker_resource_command."`
	PassEnv          []string          `toml:"worker_pass_env" doc:"Names of the worker's environment variables that are passed to items."`
	PathMap          map[string]string `toml:"worker_path_map" doc:"Paths on the submitting machines, with the paths of the same folders on this host, as {\"/vol/proj\" = \"/mnt/proj\", \"P:\" = \"/mnt/p\"}: how jobs with the flag convert_path find their files. The longest path wins; only whole parts of a path match."`
	LogLimit         units.Bytes       `toml:"worker_log_limit" doc:"Maximum output stored per attempt. Of more output the begin and the last MiB are stored (of a limit below 2 MiB: its last half), with a line that says how much is missing between. The item's writing is then slowed to 16 MiB a second."`
	Pictures         bool              `toml:"worker_pictures" doc:"Make a small JPEG of each item's first output file (-validate) that can be shown, for the page: PNG, JPEG, GIF, TIFF, BMP and WebP of up to 40 million pixels, one at a time at a low priority, as the item's owner. false: none."`
	PictureCommand   []string          `toml:"worker_picture_command" doc:"Program and arguments that convert a file of a format that worker_pictures does not list, such as [\"magick\", \"-\", \"-resize\", \"320x320\", \"png:-\"]. It runs as the item's owner, reads the file from its standard input (/dev/stdin) and writes a picture in a listed format to its standard output. Empty: none."`
	DiskFloor        units.Bytes       `toml:"worker_disk_floor" doc:"Free disk space below which the worker starts no new items."`
	Supervisor       []string          `toml:"worker_supervisor" doc:"Addresses of the supervisors, tried in turn. Empty: the one in farm.json of the default state folder."`
	TokenFile        string            `toml:"worker_token_file" doc:"File with the worker's token. Empty: worker.token beside the farm's admin token."`
}

// DefaultConfig is what holds where nothing is said.
func DefaultConfig() Config {
	return Config{
		Cluster: "/", Groups: []string{}, Properties: map[string]string{}, Resources: map[string]int{}, Spec: 1,
		LowestUID: 1000, LowUsersFile: "/etc/qb/low-users", NoNewPrivs: true, Processes: 4096, OpenFiles: 65536,
		MemoryReserve: 256 << 20, ForeignCPU: ForeignIgnore, Calendar: []string{}, KeptAction: KeptFinish,
		ReportInterval: units.Span(time.Second), ResourceCommand: []string{}, ResourceInterval: units.Span(time.Minute),
		PassEnv: []string{}, PathMap: map[string]string{}, Pictures: true, PictureCommand: []string{}, LogLimit: 256 << 20,
		DiskFloor: 512 << 20, Supervisor: []string{},
	}
}

// Bounds of single settings.
const (
	minLogLimit = 64 << 10
	leastMemory = 1 << 20 // less is a number without its unit
	maxUID      = 1<<31 - 1
	leastReport = 100 * time.Millisecond
	mostReport  = 10 * time.Second
	mostIdle    = 24 * time.Hour
	leastPoll   = time.Second

	leastProcesses = 16
	leastFiles     = 256
	mostFiles      = 1 << 20 // which the kernel allows without being asked
)

// Validate returns an api.SettingError for each setting that cannot be used, with its value and what to write instead.
func (c Config) Validate() error {
	_, scratchTwice := c.Resources["scratch"]
	_, swapNamed := c.Resources["swap"]
	_, calendarErr := ParseCalendar(c.Calendar)
	_, mapErr := pathmap.New(pathmap.ForHost(false, c.PathEntries()))
	elsewhere := pathmap.ForHost(true, c.PathEntries())
	wrong := broken([]settingRule{
		{!strings.ContainsAny(c.Name, "/\x00\n\t ") && len(c.Name) <= 255,
			api.BadSetting("worker_name", " = %q has a blank or a slash or is too long; write a plain host name", c.Name)},
		{c.CPUs >= 0 && c.CPUs <= api.MaxHostSlots,
			api.BadSetting("worker_cpus", " = %d is not within 0 (as many as cores) and %d", c.CPUs, api.MaxHostSlots)},
		{c.Cluster == "" || strings.HasPrefix(c.Cluster, "/"),
			api.BadSetting("worker_cluster", " = %q does not start with /; write /%s", c.Cluster, c.Cluster)},
		{mapErr == nil, api.BadSetting("worker_path_map", ": %v", mapErr)},
		{len(elsewhere) == 0, api.BadSetting("worker_path_map", ": %q leads to a path of Windows, and workers run on Linux",
			elsewhere)},
		{c.Spec > 0 && c.Spec <= 1e6,
			api.BadSetting("worker_spec", " = %v is not above 0 and at most 1000000; 1 is the reference", c.Spec)},
		{slices.Contains([]string{"", RunAsAgent, RunAsOwner}, c.RunAs),
			api.BadSetting("worker_run_as", " = %q is neither %q nor %q", c.RunAs, RunAsAgent, RunAsOwner)},
		{c.Scratch == 0 || c.Scratch > 0 && !scratchTwice,
			api.BadSetting("worker_scratch", " = %s is negative or is in worker_resources too; set one of them, such as 500GiB",
				c.Scratch)},
		{slices.Contains([]string{ForeignIgnore, ForeignSlots}, c.ForeignCPU),
			api.BadSetting("worker_foreign_cpu", " = %q is neither %q nor %q", c.ForeignCPU, ForeignIgnore, ForeignSlots)},
		{calendarErr == nil, api.BadSetting("worker_calendar", ": %v", calendarErr)},
		{c.Nimby >= 0 && c.Nimby.Std() <= mostIdle,
			api.BadSetting("worker_nimby", " = %s is not within 0 (off) and %s", c.Nimby, units.Span(mostIdle))},
		{c.KeptSlots >= 0 && c.KeptSlots <= api.MaxHostSlots,
			api.BadSetting("worker_kept_slots", " = %d is not within 0 (all) and %d", c.KeptSlots, api.MaxHostSlots)},
		{slices.Contains([]string{KeptFinish, KeptReturn}, c.KeptAction),
			api.BadSetting("worker_kept_action", " = %q is neither %q nor %q", c.KeptAction, KeptFinish, KeptReturn)},
		{!swapNamed, api.BadSetting("worker_resources", " has swap, which the worker finds out itself; remove it")},
		{c.ReportInterval.Std() >= leastReport && c.ReportInterval.Std() <= mostReport,
			api.BadSetting("worker_report_interval", " = %s is not within %s and %s", c.ReportInterval, leastReport,
				mostReport)},
		{c.LowestUID >= 0 && c.LowestUID <= maxUID,
			api.BadSetting("worker_lowest_uid", " = %d is not within 0 (no limit) and %d", c.LowestUID, maxUID)},
		{c.LowUsersFile == "" || filepath.IsAbs(c.LowUsersFile),
			api.BadSetting("worker_low_users_file",
				" = %q is not an absolute path; write one such as /etc/qb/low-users, or \"\" for none", c.LowUsersFile)},
		{filepath.IsAbs(c.State), api.BadSetting("worker_state",
			" = %q is not an absolute path; write one such as /var/lib/qb/worker", c.State)},
		{len(c.Supervisor) > 0,
			api.BadSetting("worker_supervisor", " is empty; give the supervisor's address, such as http://127.0.0.1:50001")},
	})
	return errors.Join(slices.Concat(wrong, c.checkLimits(), c.checkResources())...)
}

// settingRule is a rule for settings, and the error if it is broken.
type settingRule struct {
	good bool
	err  error
}

func broken(rules []settingRule) (wrong []error) {
	for _, rule := range rules {
		if !rule.good {
			wrong = append(wrong, rule.err)
		}
	}
	return wrong
}

// checkLimits returns the same of memory, processes, files and disk.
func (c Config) checkLimits() []error {
	some := func(n, least int64) bool { return n == 0 || n >= least } // 0 means none, or no limit
	return broken([]settingRule{
		{some(int64(c.Memory), leastMemory),
			api.BadSetting("worker_memory", " = %s: use %s or more, or 0 for all; a number alone is in bytes", c.Memory,
				units.Bytes(leastMemory))},
		{some(int64(c.MemoryReserve), leastMemory),
			api.BadSetting("worker_memory_reserve", " = %s: use %s or more, or 0 for none; a number alone is in bytes",
				c.MemoryReserve, units.Bytes(leastMemory))},
		{some(int64(c.SwapLimit), leastMemory),
			api.BadSetting("worker_swap_limit",
				" = %s: use %s or more per second, or 0 for no limit; a number alone is in bytes", c.SwapLimit,
				units.Bytes(leastMemory))},
		{some(int64(c.Processes), leastProcesses),
			api.BadSetting("worker_processes", " = %d: use %d or more, or 0 for no limit", c.Processes, leastProcesses)},
		{some(int64(c.OpenFiles), leastFiles) && c.OpenFiles <= mostFiles,
			api.BadSetting("worker_open_files", " = %d is not within %d and %d, or 0 for as many as the worker", c.OpenFiles,
				leastFiles, mostFiles)},
		{c.LogLimit >= minLogLimit,
			api.BadSetting("worker_log_limit", " = %s: use %s or more; a number alone is in bytes", c.LogLimit,
				units.Bytes(minLogLimit))},
		{c.DiskFloor >= 0, api.BadSetting("worker_disk_floor", " = %s is negative; use 0 or more, such as 5GiB",
			c.DiskFloor)},
	})
}

// checkResources does the same for what concerns resources.
func (c Config) checkResources() (wrong []error) {
	if len(c.ResourceCommand) > 0 && !filepath.IsAbs(c.ResourceCommand[0]) {
		wrong = append(wrong, api.BadSetting("worker_resource_command",
			" = %q does not begin with the absolute path of a program; write such as [\"/usr/bin/env\", \"lmstat\"]",
			c.ResourceCommand))
	}
	if every := c.ResourceInterval.Std(); every < leastPoll || every > mostIdle {
		wrong = append(wrong, api.BadSetting("worker_resource_interval", " = %s is not within %s and %s", c.ResourceInterval,
			units.Span(leastPoll), units.Span(mostIdle)))
	}
	for name, n := range c.Resources {
		if n < 0 || name == "" {
			wrong = append(wrong, api.BadSetting("worker_resources",
				": %q = %d has no name or is negative; write such as {maya = 2}", name, n))
		}
	}
	return wrong
}

// Startable says whether this process's user may run the worker. Validate does not ask: the supervisor's user shares
// the file with root's worker.
func (c Config) Startable() error {
	if c.RunAs == RunAsOwner && os.Geteuid() != 0 {
		return api.BadSetting("worker_run_as",
			" = %q needs root, as only root may start processes of other users; run the worker as root or set it to %q", c.RunAs,
			RunAsAgent)
	}
	return nil
}

// Settled fills in what only the host knows, its name and number of cores, and checks the result.
func (c Config) Settled(cores int) (Config, error) {
	if c.Name == "" {
		name, err := os.Hostname()
		if err != nil {
			return c, fmt.Errorf("the host's name cannot be read; set worker_name: %w", err)
		}
		c.Name, _, _ = strings.Cut(name, ".")
	}
	c.CPUs, c.Cluster = cmp.Or(c.CPUs, min(cores, api.MaxHostSlots)), cmp.Or(c.Cluster, "/")
	if c.RunAs == "" {
		c.RunAs = RunAsAgent
		if os.Geteuid() == 0 {
			c.RunAs = RunAsOwner
		}
	}
	return c, errors.Join(c.Validate(), c.Startable())
}

// PathEntries are the entries of worker_path_map, as FROM=TO.
func (c Config) PathEntries() (entries []string) {
	for _, from := range slices.Sorted(maps.Keys(c.PathMap)) {
		entries = append(entries, from+"="+c.PathMap[from])
	}
	return entries
}
