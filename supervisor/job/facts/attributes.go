package facts

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"qb/internal/pathmap"
	"qb/internal/patterns"
	"qb/internal/units"
)

// Attributes declares what a user can give a job, in the order of qbsub's help. A new one also needs:
//
//   - a field in JobFacts with the name of its column, and that column in a migration
//   - its members in api: SubmitRequest, ModifyRequest if it can be changed, Job unless it is hidden
//   - an effect: whatever reads the field
//   - a mark, Effect, that says who may change it; without one it is as good as Decides
//
// The tests go through this table: they submit, store, show, change and list each attribute, and fail where one is
// missing.
var Attributes = slices.Concat([]Attribute{
	{Name: "command", Effect: Decides, Value: func(j *JobFacts) any { return &j.Command }},
	{
		Name: "name", Effect: Offers, Value: func(j *JobFacts) any { return &j.Name },
		Option: "`NAME` of the job (default: the first word of the command)", Change: "new name `NAME`", Runes: MaxName,
	},
	{
		Name: "priority", Effect: Offers, Value: func(j *JobFacts) any { return &j.Priority },
		Option: "priority `N`; 1 is the best (default: supervisor_default_priority)",
		Change: "new priority `N`; 1 is the best", Least: 1, Most: MaxPriority,
	},
	{
		Name: "cpus", Effect: Offers, Value: func(j *JobFacts) any { return &j.CPUs },
		Option: "number `N` of primary instances, which are not stopped to share surplus slots",
		Change: "new number `N` of primary instances", Default: 1, Least: 1, Most: MaxCPUs,
	},
	{
		Name: "max_cpus", Effect: Offers, Value: func(j *JobFacts) any { return &j.MaxCPUs }, Least: -1 << 31, Most: MaxCPUs,
		Unlimited: true,
		Option:    "limit `N` of instances, secondary ones included; \"*\": supervisor_max_cpus_limit; 0: no secondary ones",
		Change:    "new limit `N` of instances, secondary ones included; \"*\": supervisor_max_cpus_limit; 0: no secondary ones",
	},
	{
		Name: "cluster", Effect: Offers, Value: func(j *JobFacts) any { return &j.Cluster },
		Option: "cluster `PATH` of the job, such as /show/seq", Change: "new cluster `PATH`", Runes: MaxName,
		Check: checkCluster,
	},
	{
		Name: "pgrp", Effect: Offers, Value: func(j *JobFacts) any { return &j.PGrp }, Most: MaxJobID,
		Option: "process group `N`: the first job of the group, of the same user (default: a group of its own)",
		Change: "new process group `N`: the first job of the group, of the same user; 0: a group of its own",
	},
	{
		Name: "label", Effect: Offers, Value: func(j *JobFacts) any { return &j.Label }, Trim: true, Runes: MaxName,
		Check:  checkLabel,
		Option: "`NAME` of the job within its process group",
	},
	{
		Name: "kind", Effect: Offers, Value: func(j *JobFacts) any { return &j.Kind }, Trim: true, Runes: MaxName,
		Check:  checkLabel,
		Option: "`NAME` that jobs of one sort share, for filters and requirements such as 'not (job.kind in host.duty.kind)'",
	},
	{
		Name: "type", Effect: Decides, Value: func(j *JobFacts) any { return &j.JobType }, Trim: true,
		Runes:  MaxName,
		Check:  checkType,
		Option: "`TYPE` of the job: a job type of the farm, such as blender (qb type list), in place of a command; or loadonce, which starts the command once for each instance (docs/sessions.md); default: cmdrange with -range, else cmdline",
	},
	{
		Name: "pid", Effect: Offers, Value: func(j *JobFacts) any { return &j.PID }, Most: MaxJobID,
		Option: "job `N` that the job belongs to; without effect on the order of jobs, see -dependency",
	},
	{
		Name: "notes", Effect: Offers, Value: func(j *JobFacts) any { return &j.Notes }, Bytes: MaxNotes,
		Option: "`TEXT` for people, which all users see", Change: "new `TEXT` for people; empty: none",
	},
	{
		Name: "mailaddress", Effect: Offers, Spelled: "address", Changed: "mailaddress",
		Value:   func(j *JobFacts) any { return &j.MailAddress },
		Entries: Entries{Separator: ",", Most: MaxRecipients, Remedy: "name a list of the mail server"},
		Check:   checkAddresses, Private: true,
		Option: "mail to `ADDRESSES`, separated by commas, when the job has ended (default with -mail: yours, USER@mail_domain)",
		Change: "mail to `ADDRESSES` when the job has ended; empty: to yours if it was submitted with -mail, else no mail",
	},
	{
		Name: "security", Effect: Permits, Value: func(j *JobFacts) any { return &j.Security }, Trim: true, Runes: MaxName,
		Check:  checkSecurity,
		Option: "what other users may do, as `RIGHTS` such as group=vmk,others=v: v read the output, m change (but not what runs) and order, k kill (default: the farm's settings)",
		Change: "what other users may do, as `RIGHTS` such as group=vmk,others=v; empty: what the farm's settings say",
	},
	{
		Name: "range", Effect: Decides, Value: func(j *JobFacts) any { return &j.Agenda.Range }, Parts: true,
		Option: "agenda: `ITEMS` such as 1-100, 1-100x5,200 or labels", Bytes: MaxRange,
	},
	{
		Name: "chunk", Effect: Decides, Hidden: true, Value: func(j *JobFacts) any { return &j.Agenda.Chunk },
		Option: "put `N` consecutive numbers into each item; fewer where the command names QB_FRAME_START or QB_FRAME_END without QB_FRAME_RANGE, and these and QB_FRAME_STEP would not name them",
	},
	{
		Name: "partitions", Effect: Decides, Hidden: true, Value: func(j *JobFacts) any { return &j.Agenda.Partitions },
		Option: "divide the range into `N` nearly equal items",
	},
	{
		Name: "order", Effect: Decides, Hidden: true, Value: func(j *JobFacts) any { return &j.Agenda.Order },
		Words: map[string]string{"reverse": "-reverse", "binary": "-binary"},
	},
	{
		Name: "padding", Effect: Decides, Hidden: true, Value: func(j *JobFacts) any { return &j.Agenda.Padding },
		Option: "pad substituted numbers to `N` digits",
	},
	{
		Name: "p_agenda", Effect: Decides, Value: func(j *JobFacts) any { return &j.PAgenda }, Parts: true, Bytes: MaxText,
		Option: "run `ITEMS` of the range first, as a separate job; -flags p_agenda: the first, the last and the middle one",
	},
	{
		Name: "p_agenda_priority", Effect: Offers, Spelled: "p_priority",
		Value: func(j *JobFacts) any { return &j.PAgendaPriority }, Least: 1, Most: MaxPriority,
		Option: "priority `N` of the job of -p_agenda (default: supervisor_default_p_agenda_priority)",
	},
	{
		Name: "p_agenda_cpus", Effect: Offers, Spelled: "p_cpus", Value: func(j *JobFacts) any { return &j.PAgendaCPUs },
		Least: 1, Most: MaxCPUs,
		Option: "number `N` of instances of the job of -p_agenda (default: as many as it has items)",
	},
	{
		Name: "dependency", Effect: Offers, Value: func(j *JobFacts) any { return &j.Dependency }, Parts: true, Trim: true,
		Option: "wait for other jobs: `LINKS` such as link-complete-job-12, link-done-work-beauty (item by item, by label) or 12,13",
	},
	{
		Name: "start", Effect: Offers, Value: func(j *JobFacts) any { return &j.StartAt }, Moment: true, Trim: true,
		Runes: 64, Check: checkStart,
		Option: "start nothing before `TIME`: 18:30, '2026-12-24 18:30', 2026-12-24T18:30:00Z (times without a zone are of this machine's) or +2h from now",
		Change: "start nothing before `TIME`, of a job that has not started; see qbsub -start; empty: at once",
	},
	{
		Name: "retrywork", Effect: Offers, Value: func(j *JobFacts) any { return &j.RetryWork }, Most: MaxRetryWork,
		Option: "retry a failed item up to `N` times", Change: "retry a failed item up to `N` times",
	},
	{
		Name: "retrywork_delay", Effect: Offers, Spelled: "retryworkdelay", Changed: "retrywork_delay",
		Value: func(j *JobFacts) any { return &j.RetryDelay }, Most: MaxRetryDelay, Seconds: true,
		Option: "wait `DURATION` before a failed item is retried, such as 90 (seconds), 5m or 1h",
		Change: "wait `DURATION` before a failed item is retried; 0: do not wait",
	},
	{
		Name: "retrysubjob", Effect: Offers, Value: func(j *JobFacts) any { return &j.RetryInstance }, Most: MaxRetryWork,
		Option: "retry up to `N` times an item that failed with its instance: through -timelimit, -preflights, or as the only item of an instance (a job without -range); no fewer than -retrywork",
		Change: "retry up to `N` times an item that failed with its instance; see qbsub -retrysubjob",
	},
	{
		Name: "timeout", Effect: Offers, Value: func(j *JobFacts) any { return &j.Timeout }, Most: MaxTimeLimit,
		Seconds: true,
		Option:  "report an instance (event timeout) that has run for `DURATION`; nothing is ended; 0: never",
		Change:  "report an instance (event timeout) that has run for `DURATION`; 0: never",
	},
	{
		Name: "agenda_timeout", Effect: Offers, Value: func(j *JobFacts) any { return &j.AgendaTimeout }, Most: MaxTimeLimit,
		Seconds: true,
		Option:  "report an item (event timeout) that has run for `DURATION`; nothing is ended; 0: never",
		Change:  "report an item (event timeout) that has run for `DURATION`; 0: never",
	},
	{
		Name: "timelimit", Effect: Offers, Value: func(j *JobFacts) any { return &j.TimeLimit }, Most: MaxTimeLimit,
		Seconds: true,
		Option:  "end an instance after `DURATION`, such as 90 (seconds), 5m or 1h30m; its item fails; 0: no limit",
	},
	{
		Name: "agendatimelimit", Effect: Offers, Value: func(j *JobFacts) any { return &j.AgendaTimeLimit },
		Most: MaxTimeLimit, Seconds: true,
		Option: "end an item after `DURATION`, such as 90 (seconds), 5m or 1h30m, with the preflights before and the postflights after it; it fails; 0: no limit",
	},
	{
		Name: "time_estimate", Effect: Offers, Spelled: "timereq", Value: func(j *JobFacts) any { return &j.TimeEstimate },
		Least: 1, Most: MaxTimeLimit, Seconds: true,
		Option: "expect an item to run for about `DURATION`, such as 90 (seconds), 5m or 1h30m; used until the first items have finished; no limit",
		Change: "expect an item to run for about `DURATION`; used until the first items have finished",
	},
	{
		Name: "hosts", Effect: Offers, Value: func(j *JobFacts) any { return &j.Hosts },
		Entries: Entries{Separator: ",", Most: MaxNamed, Remedy: "name groups instead"}, OfHosts: true,
		Option: "run only on hosts `A,B`", Change: "run only on hosts `A,B`; empty: all",
	},
	{
		Name: "omithosts", Effect: Offers, Value: func(j *JobFacts) any { return &j.OmitHosts },
		Entries: Entries{Separator: ",", Most: MaxNamed, Remedy: "name omitgroups instead"}, OfHosts: true,
		Option: "do not run on hosts `A,B`", Change: "do not run on hosts `A,B`; empty: none",
	},
	{
		Name: "groups", Effect: Offers, Value: func(j *JobFacts) any { return &j.Groups },
		Entries: Entries{Separator: ",", Most: MaxNamed, Remedy: "name fewer"}, OfHosts: true,
		Option: "run only on hosts of groups `A,B`", Change: "run only on hosts of groups `A,B`; empty: all",
	},
	{
		Name: "omitgroups", Effect: Offers, Value: func(j *JobFacts) any { return &j.OmitGroups },
		Entries: Entries{Separator: ",", Most: MaxNamed, Remedy: "name fewer"}, OfHosts: true,
		Option: "do not run on hosts of groups `A,B`", Change: "do not run on hosts of groups `A,B`; empty: none",
	},
	{
		Name: "requirements", Effect: Offers, Value: func(j *JobFacts) any { return &j.Requirements }, Parts: true,
		OfHosts: true,
		Option:  "condition `EXPR` on hosts, such as 'host.memory > 3GiB'", Change: "new requirements `EXPR`",
	},
	{
		Name: "reservations", Effect: Offers, Value: func(j *JobFacts) any { return &j.Reservations }, Parts: true,
		OfHosts: true,
		Option:  "what an instance reserves: `LIST` such as host.processors=2,host.memory=4GiB", Change: "new reservations `LIST`",
	},
	{
		Name: "system", Effect: Offers, Value: func(j *JobFacts) any { return &j.System }, Trim: true, Runes: MaxName,
		OfHosts: true, Check: checkSystem,
		Option: "the job has paths and programs of `SYSTEM`: linux, darwin (macOS) or windows; a host of another family (Windows; Linux and macOS) gets it if its path map or -pathmap has all paths of the command; any: all hosts (default: that of this machine)",
		Change: "new `SYSTEM` of the job's paths and programs: linux, darwin, windows or any; empty: any",
	},
	{
		Name: "profile", Effect: Offers, Value: func(j *JobFacts) any { return &j.Profile }, Trim: true, Runes: MaxName,
		Check:  checkProfile,
		Option: "your jobs with the profile `NAME` need similar memory and time: a new job starts with what earlier ones needed (default: the program and the job's name without digits and version)",
	},
	{
		Name: "restrictions", Effect: Offers, Value: func(j *JobFacts) any { return &j.Restrictions }, Parts: true,
		OfHosts: true, Trim: true,
		Entries: Entries{Separator: "||", Most: MaxPatterns, Remedy: "name a cluster above them, as /show/+"},
		Option:  "run only on hosts of clusters that match `EXPR`, such as '/show/* || /x/+'",
		Change:  "run only on hosts of clusters that match `EXPR`; empty: all",
	},
	{
		Name: "hostorder", Effect: Offers, Value: func(j *JobFacts) any { return &j.HostOrder },
		Entries: Entries{Separator: ",", Most: MaxOrdered, Remedy: "the first decide"}, Trim: true,
		Option: "preferred order of hosts: `LIST` such as +host.memory.avail", Change: "new preferred order of hosts: `LIST`",
	},
	{
		Name: "flags", Effect: Decides, Value: func(j *JobFacts) any { return &j.Flags },
		Form:   flagNames,
		Option: "job flags `A,B`, or their number in Qube; export_environment sends your environment with the job",
	},
	{
		Name: "account", Effect: Offers, Value: func(j *JobFacts) any { return &j.Account }, Runes: MaxName,
		Option: "account `PATH` to charge (fairshare), such as show/shot",
		Change: "new account `PATH` to charge; only before the first item has started",
	},
	flights("preflights", "before the first item of an instance", func(j *JobFacts) any { return &j.Preflights }),
	flights("postflights", "after the command of a job without -range", func(j *JobFacts) any { return &j.Postflights }),
	flights("agenda_preflights", "before each item", func(j *JobFacts) any { return &j.AgendaPreflights }),
	flights("agenda_postflights", "after each item (QB_FRAME_STATUS and QB_SYSTEM_EXIT_CODE say how it ended)",
		func(j *JobFacts) any { return &j.AgendaPostflights }),
	{
		Name: "validate", Effect: Decides, Value: func(j *JobFacts) any { return &j.Validate },
		Entries: Entries{Separator: ",", Most: MaxFlights, Remedy: "check the others in -agenda_postflights",
			Quotes: AroundQuotes},
		Option: "output `FILES` of each item, separated by commas (one with a comma as \"a,b\"), as out.QB_PADDED_FRAME_NUMBER.exr:10K (at least that large; :new or :10K:new: and written by this attempt), one for each number of the item; it fails if one is missing, smaller or older; the page shows a picture of the first that it can",
		Change: "new output `FILES` to check; empty: none",
	},
}, tagAttributes(), []Attribute{
	{
		Name: "regex_progress", Effect: Decides, Value: func(j *JobFacts) any { return &j.RegexProgress }, Parts: true,
		Bytes: maxPatterns, Check: patterns.Check,
		Option: "read an item's progress by `REGEX` from lines of its output: the first group is per cent, as in 'Progress: (\\d+)%', or the first of the second, as in 'tile (\\d+)/(\\d+)'; several are separated by line feeds",
		Change: "new `REGEX` for progress; items that run keep theirs; empty: none",
	},
	{
		Name: "regex_errors", Effect: Decides, Value: func(j *JobFacts) any { return &j.RegexErrors }, Parts: true,
		Bytes: maxPatterns, Check: patterns.Check,
		Option: "an item with a line of output that matches `REGEX` fails; several are separated by line feeds",
		Change: "new `REGEX` for lines that make an item fail; items that run keep theirs; empty: none",
	},
	{
		Name: "regex_highlights", Effect: Decides, Value: func(j *JobFacts) any { return &j.RegexHighlights }, Parts: true,
		Bytes: maxPatterns, Check: patterns.Check,
		Option: "keep with each attempt the first 20 lines of its output that match `REGEX`, for qbitems -attempts and the page; several are separated by line feeds",
		Change: "new `REGEX` for lines to keep; items that run keep theirs; empty: none",
	},
	{
		Name: "regex_outputpaths", Effect: Decides, Value: func(j *JobFacts) any { return &j.RegexOutputPaths }, Parts: true,
		Bytes: maxPatterns, Check: patterns.Check,
		Option: "keep with each attempt the paths that `REGEX` finds in its output, up to 50: its first group, as in 'Saved: (\\S+)', or all that matches; several are separated by line feeds",
		Change: "new `REGEX` for paths to keep; items that run keep theirs; empty: none",
	},
	{
		Name: "pathmap", Effect: Decides, Value: func(j *JobFacts) any { return &j.PathMap },
		Entries: Entries{Separator: ",", Most: pathmap.MaxEntries, Remedy: "the hosts' worker_path_map can have the others",
			Quotes: AroundQuotes}, List: checkPathMap,
		Option: "paths here with the same on the hosts: `LIST` such as /vol/proj=/mnt/proj,P:=/mnt/p, for the command, its folder, variables and files; see also -flags convert_path",
		Change: "new `LIST` of paths here with the same on the hosts; see qbsub -pathmap; empty: none",
	},
	{
		Name: "shell", Effect: Decides, Hidden: true, Value: func(j *JobFacts) any { return &j.Shell },
		Option: "the command is a line for /bin/sh; -shell=false: a program and its arguments (default: a line if it is a single word with white space)",
	},
	{Name: "cwd", Effect: Decides, Value: func(j *JobFacts) any { return &j.Cwd }, Bytes: MaxPath, Option: "working directory `DIR` (default: the current one)"},
	{Name: "env", Effect: Decides, Hidden: true, Value: func(j *JobFacts) any { return &j.Env }},
	{
		Name: "umask", Effect: Decides, Hidden: true, Value: func(j *JobFacts) any { return &j.Umask }, Most: 0o777,
		Octal:  true,
		Option: "`MODE` of bits that new files of the job do not get, in octal, such as 022 (default: the current one)",
	},
})

// maxPatterns bounds the expressions of an attribute, with a line feed after each.
const maxPatterns = patterns.Most * (patterns.MaxLength + 1)

// flights is an attribute of commands that the worker runs beside an item's own.
func flights(name, when string, value func(j *JobFacts) any) Attribute {
	return Attribute{
		Name: name, Effect: Decides, Value: value, Entries: Entries{Separator: ",", Most: MaxFlights,
			Remedy: "call the others from one of them", Quotes: ShellQuotes},
		Option: "run `COMMANDS`, separated by commas outside of quotes, on the worker as the job's owner " + when + "; if one fails or takes 10 minutes, the item fails",
		Change: "new `COMMANDS` to run " + when + "; empty: none",
	}
}

// tagAttributes are the tags for reports.
func tagAttributes() (list []Attribute) {
	for n, name := range TagNames {
		list = append(list, Attribute{
			Name: name, Effect: Offers, In: "tags", Value: func(j *JobFacts) any { return &j.Tags[n] }, Runes: MaxTag,
			Option: "`TAG` for reports; see qbstats -by " + name,
			Change: "new `TAG` for reports, past work included; empty: none; see qbstats -by " + name,
		})
	}
	return list
}

func checkProfile(text string) error {
	if strings.ContainsFunc(text, unicode.IsControl) || strings.Contains(text, "/") || strings.HasPrefix(text, ".") {
		return errors.New("write a name such as beauty, without slashes and control characters and without a dot at its begin")
	}
	return nil
}

func checkStart(text string) error {
	if text == "" {
		return nil
	}
	_, err := units.ParseMoment(text, time.Time{})
	return err
}

func checkPathMap(entries []string) error {
	_, err := pathmap.New(pathmap.ForHost(false, entries))
	_, errOnWindows := pathmap.New(pathmap.ForHost(true, entries))
	return cmp.Or(err, errOnWindows)
}

func checkLabel(text string) error {
	if strings.ContainsFunc(text, unicode.IsControl) || strings.ContainsAny(text, ",:") {
		return errors.New("write a name such as beauty, without commas, colons and control characters")
	}
	return nil
}

func checkCluster(text string) error {
	if text != "" && !strings.HasPrefix(text, "/") {
		return errors.New("write a path that begins with a slash, such as /show/shot")
	}
	return nil
}
