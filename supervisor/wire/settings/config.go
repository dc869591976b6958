package settings

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"qb/api"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/quota"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/share/planner"
)

// Config is the supervisor's part of qb.conf. Every key is flat, has a default that works and a sentence that explains
// it; some allow only the values listed. Secret values are not to be shown, and a restart is needed for some.
type Config struct {
	Origins map[string]string `toml:"-" doc:"No setting: where the values come from, by key; absent: the default."`

	Listen           string            `toml:"supervisor_listen" restart:"true" doc:"Address on which the supervisor listens. On a loopback address it speaks HTTP, on any other one HTTPS alone. 0.0.0.0:50001: all addresses of the machine. Port 0: any free port."`
	Names            string            `toml:"supervisor_names" restart:"true" doc:"Names and addresses by which other machines call the supervisor, separated by commas. The first one is in the line that joins a worker. Empty: the host of supervisor_listen, or the hostname."`
	TLSCert          string            `toml:"supervisor_tls_cert" restart:"true" doc:"PEM file with a certificate and its chain, if clients are to trust the authority that made it. A replaced file is read without a restart. Empty: a certificate of the farm's own CA, which qb makes and renews in the folder tls of supervisor_state."`
	TLSKey           string            `toml:"supervisor_tls_key" restart:"true" doc:"PEM file with the key of supervisor_tls_cert."`
	Socket           string            `toml:"supervisor_socket" restart:"true" doc:"Unix socket for local users, who need no token there. Empty: none."`
	State            string            `toml:"supervisor_state" restart:"true" doc:"Folder for the supervisor's own files, by which commands on this machine find the farm, too. Empty: the default state folder."`
	KeyFile          string            `toml:"supervisor_key_file" restart:"true" doc:"File with the farm's key, which signs terms and protects tokens. The first start makes it, mode 0600. All supervisors of a farm need a copy of the same file. Empty: farm.key in supervisor_state."`
	LogPath          string            `toml:"supervisor_logpath" restart:"true" doc:"Folder for the items' output, as GROUP/JOB/ITEM.ATTEMPT.log. Empty: logs in supervisor_state."`
	DatabaseURL      string            `toml:"database_url" secret:"true" restart:"true" doc:"Address of a Postgres server, version 15 or newer, as postgres://USER@HOST/NAME. Several supervisors on one database are leader and standbys. Empty: qb farm runs a private server."`
	DatabaseBinDir   string            `toml:"database_bindir" restart:"true" doc:"Folder with the programs initdb and postgres, for the private server. Empty: the newest version installed."`
	ShareMode        string            `toml:"supervisor_smart_share_mode" values:"jobs, users, none" doc:"How surplus slots are divided. jobs: equally among jobs. users: equally among users first, then among the jobs of each. none: no job gets more instances than its cpus."`
	SharePreempt     string            `toml:"supervisor_smart_share_preempt_policy" values:"aggressive, passive, disabled" doc:"How secondary instances make room. aggressive: they are stopped at once. passive: they end after their item. disabled: they are not stopped."`
	DefaultMaxCPUs   Width             `toml:"supervisor_default_max_cpus" doc:"Default of max_cpus. \"*\" or -1: supervisor_max_cpus_limit. 0: no secondary instances."`
	MaxCPUsLimit     int               `toml:"supervisor_max_cpus_limit" doc:"Upper limit of max_cpus. Larger values are reduced, with a warning."`
	ShareUnit        string            `toml:"supervisor_smart_share_unit" values:"slots, instances" doc:"What is divided equally: slots or instances."`
	ShareMinRun      Duration          `toml:"supervisor_smart_share_min_run" doc:"Minimum run time of a secondary instance before it is stopped for another job's secondary. 0: none."`
	ShareSettle      Duration          `toml:"supervisor_smart_share_settle" doc:"Minimum time between two reductions of the same job's secondaries. A waiting primary instance is not delayed. 0: none."`
	ShareMaxLost     Duration          `toml:"supervisor_smart_share_max_lost" doc:"Largest loss of run time that the policy aggressive accepts. An instance that would lose more ends after its item instead. 0: no limit."`
	Fairshare        string            `toml:"supervisor_fairshare" values:"off, order" doc:"order: past usage ranks the owners of jobs, and a priority orders its owner's own jobs. What operators and admins set goes before. With supervisor_highest_user_priority above 1 usage ranks only jobs of equal priority. off: usage is only counted."`
	Accounts         string            `toml:"supervisor_accounts" values:"listed, open" doc:"Which accounts jobs may name. listed: those of qbadmin account of which the owner is a member. open: any; an account then is a tag for reports, and users are ranked by their use over all accounts."`
	FairsharePE      string            `toml:"supervisor_fairshare_pe" values:"sum, max" doc:"What an instance is charged for. sum: its fractions of the farm's CPUs, memory, GPUs and scratch space, added up. max: the largest of its fractions of the host."`
	FairshareRule    string            `toml:"supervisor_fairshare_rule" values:"tree, fair_tree" doc:"How accounts are ranked. tree: 2^-(usage/share), where members answer for their account's usage. fair_tree: accounts are compared first, then their members."`
	FairshareHalf    Duration          `toml:"supervisor_fairshare_half_life" doc:"Half-life of past usage. 115h39m equals a factor of 0.75 in 48 h. 0: usage does not decay."`
	DecayFactor      float64           `toml:"supervisor_fairshare_decay_factor" doc:"Instead of a half-life: the fraction of past usage kept per supervisor_fairshare_decay_period, such as 0.75. 0: supervisor_fairshare_half_life applies."`
	DecayPeriod      Duration          `toml:"supervisor_fairshare_decay_period" doc:"Period of supervisor_fairshare_decay_factor, such as 48h. 0: none."`
	FairsharePay     bool              `toml:"supervisor_fairshare_charge_preempted" doc:"Charge users for attempts that were preempted."`
	ShareWeights     string            `toml:"supervisor_smart_share_weights" values:"off, fairshare" doc:"Weights in the division of surplus slots. fairshare: the users' fairshare factors, in eighths. off: all jobs have equal weight."`
	QueueAlgorithm   string            `toml:"supervisor_queue_algorithm" values:"cluster, priority, multifactor" doc:"Order of jobs. cluster: by the distance of the job's cluster from the host's, then by priority. priority: by priority. multifactor: by points, a weighted sum of age, fairshare, priority and size."`
	PointsAge        float64           `toml:"supervisor_multifactor_age" doc:"Points for age, with the order multifactor. They grow until supervisor_multifactor_max_age."`
	PointsFairshare  float64           `toml:"supervisor_multifactor_fairshare" doc:"Points for a fairshare factor of 1. supervisor_fairshare need not be set."`
	PointsPriority   float64           `toml:"supervisor_multifactor_priority" doc:"Points for priority 1. They fall evenly to 0 at the worst priority."`
	PointsSize       float64           `toml:"supervisor_multifactor_size" doc:"Points for a job whose cpus need all slots of the farm; smaller jobs get proportionally fewer. Negative: small jobs go first."`
	PointsMaxAge     Duration          `toml:"supervisor_multifactor_max_age" doc:"Age, counted from submission, at which a job has all points of supervisor_multifactor_age."`
	Preempt          string            `toml:"supervisor_preempt_policy" values:"passive, aggressive, disabled" doc:"Whether waiting primary instances of better priority take slots of primaries of worse priority. passive: after the item. aggressive: at once. disabled: never."`
	SuspendSlots     string            `toml:"supervisor_suspend_slots" values:"keep, release" doc:"Use of the slots of suspended instances (qbsuspend). keep: they stay reserved. release: other instances may use them as soon as the worker reports that the whole process tree stands still. A resumed instance then waits on its host until its slots are free. Memory, licences and GPUs stay with the instance in any case."`
	DefaultPriority  int               `toml:"supervisor_default_priority" doc:"Default priority of jobs. 1 is the best."`
	HighestUser      int               `toml:"supervisor_highest_user_priority" doc:"Best priority that a user may request. Operators and admins may request any. 1: users too, and supervisor_fairshare ranks owners before priorities."`
	PAgendaPriority  int               `toml:"supervisor_default_p_agenda_priority" doc:"Priority of the jobs of preview items (qbsub -p_agenda) that name none."`
	PAgendaMost      Width             `toml:"supervisor_p_agenda_max" doc:"Maximum number of preview items of one submission. \"*\" or -1: no limit."`
	JobFlags         string            `toml:"supervisor_job_flags" doc:"Flags that all jobs get besides those that they name, separated by commas, such as convert_path; not those with the flag no_defaults."`
	MaxPriority      int               `toml:"supervisor_max_priority" doc:"Worst priority. Larger numbers are reduced to it, with a warning."`
	DefaultCluster   string            `toml:"supervisor_default_cluster" doc:"Default cluster of jobs."`
	DefaultHostOrder string            `toml:"supervisor_default_hostorder" doc:"Default -hostorder. +PROPERTY prefers hosts with more of it, -PROPERTY with less, as +host.memory.avail,-host.processors.used. Empty: supervisor_placement."`
	Resources        string            `toml:"supervisor_global_resources" doc:"Resources of the whole farm that jobs may reserve, with their counts, such as license.nuke=20,global.tape=2. Their surplus is shared like slots. Of license_host.NAME and global_host.NAME each host takes one, however many instances run there. Of scoped.NAME an instance also takes as much of its host, which offers it in worker_resources, as {\"scoped.NAME\" = 2}."`
	WorkerConfigFile string            `toml:"supervisor_worker_configfile" doc:"File with settings of workers, in sections [default], [group.NAME] and [host.NAME], that only say what hosts offer: slots, groups, cluster, properties, resources, memory, times for people. A worker's own qb.conf comes first. qbadmin supervisor -reread reads it again, and workers take it within seconds. Empty: none."`
	ResourceAge      Duration          `toml:"supervisor_resource_age" doc:"Age above which a report of use outside of the farm (qbupdateresource, worker_resource_command) is listed as stale. It counts until the next report. 0: never."`
	ResourceWait     Duration          `toml:"supervisor_resource_wait" doc:"Time for which the farm takes no more of a resource than it still holds, after an item has found no licence. Then it tries one more; a failed try doubles the time, up to 10m."`
	ResourceHosts    string            `toml:"supervisor_resource_hosts" doc:"Names of the hosts whose workers may report what is used outside of the farm, by worker_resource_command, separated by commas. Empty: none."`
	NoLicence        map[string]string `toml:"supervisor_no_licence" doc:"By resource a pattern (RE2) of lines in which a failed item says that it found no licence, such as {\"license.nuke\" = \"No licen[cs]e|LICENSE ERROR\"}. Such an item runs again without using a retry, and the farm takes fewer of the resource for a while (supervisor_resource_wait). An item with status 0 is complete, whatever it says."`
	NoLicenceExits   map[string]string `toml:"supervisor_no_licence_exits" doc:"By resource the exit codes, separated by commas, that say the same, such as {\"license.nuke\" = \"100,101\"}."`
	OpenJDTemplates  map[string]string `toml:"supervisor_openjd_environments" doc:"By cluster the files of environment templates of Open Job Description, separated by commas, that its jobs enter before their own: conda, Rez, licences. A cluster has those of the clusters above it first, as {\"/\" = \"/etc/qb/conda.yaml\", \"/show\" = \"/etc/qb/show.yaml\"}. They are read at each submission."`
	Types            string            `toml:"supervisor_types" doc:"Folder with the job types of the site, a folder each, besides the built-in ones. They are read at each submission. Empty: none."`
	FlamencoListen   string            `toml:"supervisor_flamenco_listen" restart:"true" doc:"Address of a door for the Flamenco add-on of Blender, such as 127.0.0.1:8080. It has no login: all who reach it submit as supervisor_flamenco_owner. Empty: closed."`
	FlamencoOwner    string            `toml:"supervisor_flamenco_owner" doc:"The user as whom the Flamenco add-on submits. It may be neither root nor the supervisor's own account, nor an operator or admin."`
	FlamencoStorage  map[string]string `toml:"supervisor_flamenco_storage" doc:"By platform of the artists (linux, windows, darwin) the folder into which the Flamenco add-on copies scenes, as {\"linux\" = \"/mnt/jobs\", \"windows\" = \"J:/jobs\"}. Hosts see the folder of linux."`
	BundleInbox      string            `toml:"supervisor_bundle_inbox" restart:"true" doc:"Folder in which users drop bundles of Open Job Description: the leader submits each as the owner of its files, and moves it to done or refused there. Empty: none."`
	BundleUsers      string            `toml:"supervisor_bundle_users" doc:"Users whose bundles in supervisor_bundle_inbox are submitted, separated by commas. They may be neither root nor the supervisor's own account, nor operators or admins."`
	DoorHosts        string            `toml:"supervisor_door_hosts" doc:"Addresses and networks besides loopback from which doors without a login take requests, separated by commas, such as 10.1.0.0/16. Empty: none."`
	OpenJDAmounts    map[string]string `toml:"supervisor_openjd_amounts" doc:"By amount of Open Job Description the resource that is reserved for it, as {\"amount.maya\" = \"license.maya\", \"amount.worker.disk.scratch\" = \"host.scratch\"}."`
	OpenJDAttributes map[string]string `toml:"supervisor_openjd_attributes" doc:"By attribute of Open Job Description the condition on hosts, with {} for the value in quotes, as {\"attr.software\" = \"{} in host.flags\"}."`
	ResourcesPerUser string            `toml:"supervisor_resources_per_user" doc:"Of the resources that are counted per host, license_host.NAME and global_host.NAME, those that are counted per user and host, separated by commas."`
	UserLimit        Width             `toml:"supervisor_default_user_subjob_limit" doc:"Maximum number of running instances of one user, primary and secondary ones of all jobs together. Jobs beyond it wait. \"*\" or -1: no limit."`
	UserLimits       string            `toml:"supervisor_user_subjob_limits" doc:"Limits of single users instead of supervisor_default_user_subjob_limit, as NAME=NUMBER pairs separated by commas, such as ada=20,bob=-1. -1: no limit."`
	PGrpLimit        Width             `toml:"supervisor_default_pgrp_subjob_limit" doc:"Maximum number of running instances of one process group. It holds beside the limit of its user. \"*\" or -1: no limit."`
	PGrpLimits       string            `toml:"supervisor_pgrp_subjob_limits" doc:"Limits of each process group of single users instead of supervisor_default_pgrp_subjob_limit, such as ada=20,bob=-1."`
	AccountLimit     Width             `toml:"supervisor_default_account_subjob_limit" doc:"Maximum number of running instances of one account. \"*\" or -1: no limit."`
	AccountLimits    string            `toml:"supervisor_account_subjob_limits" doc:"Limits of single accounts instead of supervisor_default_account_subjob_limit, such as show=200,show/shot=50. The limit of an account bounds the accounts below it, too."`
	MaxItems         int               `toml:"supervisor_max_items" doc:"Maximum number of items of one job."`
	DefaultMemory    Size              `toml:"supervisor_default_memory" doc:"Memory reserved for an instance while the need of its job is unknown. It is never more than its slots' fraction of the host."`
	Placement        string            `toml:"supervisor_placement" values:"best_fit, spread, pack" doc:"Which of the hosts with enough memory is chosen. best_fit: the one with the least free memory. spread: the most free memory. pack: the fewest free slots."`
	MemoryQuantile   float64           `toml:"supervisor_memory_quantile" doc:"Quantile of the peaks of finished items that counts as the job's memory need, from the 20th item on. 1: the largest."`
	MemoryMargin     float64           `toml:"supervisor_memory_margin" doc:"Factor applied to supervisor_memory_quantile. No effect if the quantile is 1."`
	MemoryTrim       bool              `toml:"supervisor_memory_trim" doc:"Allow the peaks of finished items to lower a requested host.memory, by a third at most."`
	CPUShare         string            `toml:"supervisor_cpu_share" values:"off, stride, lottery" doc:"Give users whose jobs of equal rank compete for slots equal slot time. stride: exactly. lottery: at random, weighted by 1/item length. off: no."`
	CPUShareBy       string            `toml:"supervisor_cpu_share_by" values:"users, jobs" doc:"Who gets equal slot time. users: the users first, then the jobs of each. jobs: the jobs, whoever owns them."`
	CPUShareSeed     int64             `toml:"supervisor_cpu_share_seed" doc:"Seed of the lottery. The same seed on the same farm gives the same draws."`
	CPUShareQuantile float64           `toml:"supervisor_cpu_share_quantile" doc:"Quantile of the run times of finished items that counts as the expected run time of the next item. 1: the longest."`
	TimeFactor       float64           `toml:"supervisor_time_factor" doc:"Report an item as slow when it runs this many times longer than the job's longest finished item. 0: never."`
	AvoidAfter       int               `toml:"supervisor_avoid_after" doc:"A job avoids a host after this many of its attempts failed there one after the other, unless the same item failed on another host or no other host serves the job. 0: never, but for jobs with the flag auto_wrangling, after 2."`
	AvoidFor         Duration          `toml:"supervisor_migrate_timeout" doc:"Time for which a job avoids a host, because of supervisor_avoid_after or the flag migrate_on_frame_retry."`
	ExecutionLease   Duration          `toml:"supervisor_execution_lease" doc:"Time without contact after which a host is lost. Its items run elsewhere; its own copies are frozen."`
	Liveness         Duration          `toml:"supervisor_liveness" doc:"Time without contact after which a host is shown as unreachable and gets no new items."`
	HistoryDays      int               `toml:"supervisor_history_days" doc:"Days after a job's end until its attempts are replaced by daily sums, which ranks and reports still count. Such a job cannot be retried. 0: never."`
	JobRetention     Duration          `toml:"supervisor_job_retention" doc:"Time after a job's end until the job and its logs are deleted. Daily sums stay. At least supervisor_history_days. 0: never."`
	LogRetention     Duration          `toml:"supervisor_log_retention" doc:"Time after a job's end until its logs are deleted; at least 1h. 0: never."`
	LogMinFree       Size              `toml:"supervisor_log_min_free" doc:"Free space to keep on the disk of supervisor_logpath, or a quarter of the disk if that is smaller. Below it, logs of the oldest finished jobs are deleted early, never those of running items. 0: never."`
	Users            string            `toml:"supervisor_users" doc:"Users who may use the unix socket without a token, separated by commas, besides the members of supervisor_groups. Both empty: every user of the machine."`
	Groups           string            `toml:"supervisor_groups" doc:"Groups whose members may use the unix socket without a token."`
	ApproveHosts     bool              `toml:"supervisor_approve_hosts" doc:"Let each host that joins by a line of qbadmin worker token wait until qbadmin worker -approve HOST. Meanwhile qbhosts lists it as pending, with its key, and it gets nothing. After a day it must join again. false: hosts join at once."`
	LogAccess        string            `toml:"supervisor_log_access" values:"all, group, owner" doc:"Who may read the output of others' items, besides operators and admins. all: every user. group: users of a group that qbadmin user gives both, and its leads. owner: nobody else. Commands and environments of others are never shown."`
	DefaultSecurity  string            `toml:"supervisor_default_security" doc:"Rights of users to whom qbusers gave none, as a number of Qube's or as names: see,output,submit_job,kill and so on; qbusers -help lists them. Job rights reach only own jobs. Empty: all but lock, admin and sudo."`
	OIDCIssuer       string            `toml:"supervisor_oidc_issuer" doc:"URL of the OpenID Connect provider by which users log in with qb login. It must offer the device flow. https, or http on loopback. Empty: no single sign-on."`
	OIDCClientID     string            `toml:"supervisor_oidc_client_id" doc:"Id under which the provider knows this farm."`
	OIDCSecretFile   string            `toml:"supervisor_oidc_client_secret_file" doc:"File with the client secret, mode 0600, of the supervisor's user. It is read at each login. Empty: the client is public and has no secret."`
	OIDCScopes       string            `toml:"supervisor_oidc_scopes" doc:"Scopes to request besides openid, separated by commas. Providers differ in which of them brings groups."`
	OIDCUserClaim    string            `toml:"supervisor_oidc_user_claim" doc:"Claim of the ID token that names the user as qbadmin user add does. Users must not be able to change it at the provider. email counts only if the provider says that it is verified."`
	OIDCDomain       string            `toml:"supervisor_oidc_domain" doc:"Domain that must follow the name in the claim, as in ada@studio.example, and is removed from it. Names of other domains are refused. Empty: the claim is the name as it is."`
	OIDCGroupsClaim  string            `toml:"supervisor_oidc_groups_claim" doc:"Claim of the ID token that lists the user's groups, for supervisor_oidc_admit."`
	OIDCAdmit        string            `toml:"supervisor_oidc_admit" doc:"Groups of the provider whose members need not be added first, as GROUP=ROLE pairs separated by commas, such as artists=user,wranglers=operator. At the first login the user is added with the role of the first pair that fits. Empty: only users of qbadmin user add log in."`
	OIDCDays         int               `toml:"supervisor_oidc_token_days" doc:"Maximum lifetime in days of a token that was made by single sign-on, at most supervisor_token_days. The provider is not asked again before it ends."`
	TokenDays        int               `toml:"supervisor_token_days" doc:"Maximum lifetime of a token in days. Longer lifetimes are shortened, with a log line."`
	AuditDays        int               `toml:"supervisor_audit_days" doc:"Days to keep rows of the audit trail; at least 30. 0: for ever."`
	UserJobs         int               `toml:"supervisor_user_jobs" doc:"Maximum number of unfinished jobs of one user. 0: no limit."`
	UserBytes        Size              `toml:"supervisor_user_bytes" doc:"Maximum size of one user's unfinished jobs together, commands and environments included. 0: no limit."`
	UserChoices      int               `toml:"supervisor_user_choices" doc:"Maximum number of host names, group names, patterns and comparisons by which one user's unfinished jobs choose hosts. What several jobs have in common counts once. 0: no limit."`
	UserStored       Size              `toml:"supervisor_user_stored" doc:"Maximum size of all jobs of one user in the database. Finished jobs count until supervisor_job_retention deletes them. 0: no limit."`
	JobBytes         Size              `toml:"supervisor_job_bytes" doc:"Maximum size of one job's data: its command, its environment and all other attributes. 0: no limit."`
	UserSubmissions  int               `toml:"supervisor_user_submissions" doc:"Jobs that one user may submit per minute, on average. 0: no limit."`
	UserBurst        int               `toml:"supervisor_user_burst" doc:"Jobs that one user may submit at once before supervisor_user_submissions applies."`
	UserSubmitted    Size              `toml:"supervisor_user_submitted" doc:"Bytes of submissions, changes and orders that one user may send per minute, on average; eight times as many at once. 0: no limit."`
	UserChanges      int               `toml:"supervisor_user_changes" doc:"Changes of jobs and orders that one user may make per minute, on average; five times as many at once. 0: no limit."`
	TokenStreams     int               `toml:"supervisor_token_streams" doc:"Event streams that one token, or one user of the socket, may hold open. 0: no limit."`
	TokenFollowed    int               `toml:"supervisor_token_followed_logs" doc:"Logs that one token, or one user of the socket, may follow at a time. 0: no limit."`
	KillGrace        Duration          `toml:"supervisor_kill_grace" doc:"Time between TERM and KILL when an item is stopped. A program of a load-once job that is to end has as long before TERM, too."`
	LoadOnceWait     Duration          `toml:"supervisor_loadonce_wait" doc:"How long the program of a load-once job may hold its slots and its memory while all items that are left wait for others, for a retry or for a person. Then it ends; 0: at once."`
	ShortItem        Duration          `toml:"supervisor_short_item" doc:"An instance of a job whose items have taken less than this on average holds the next item ahead: its worker begins it without a word of the supervisor in between, so that items that take milliseconds do not wait for each other's way there and back. An item that is held ahead is handed back when its instance is to leave, or when the one before it runs for a second. 0: no items are held ahead."`
	AuditEvery       Duration          `toml:"supervisor_audit_every" doc:"Time between two comparisons of the workers' records of ends with the database that the leader makes by itself (qb audit -workers); one is made a minute after a term begins, too. 0: never."`
	MailHost         string            `toml:"mail_host" doc:"Mail server (SMTP) through which the leader sends mails about ended jobs (qbsub -mail, -address). Empty: no mails are sent."`
	MailPort         int               `toml:"mail_port" doc:"Port of mail_host. 25, 587 or, with mail_tls tls, 465 are usual."`
	MailTLS          string            `toml:"mail_tls" values:"starttls, tls, none" doc:"Encryption of the connection to mail_host. starttls: it begins once connected, and the server must offer it. tls: from the start. none: none; a password is then sent to this machine only. The certificate must be of mail_host and of an authority that the system trusts."`
	MailFrom         string            `toml:"mail_from" doc:"Address from which mails come. Empty: qb@ followed by mail_domain, or by the name of the machine."`
	MailDomain       string            `toml:"mail_domain" doc:"Domain of the users' addresses: a job that names no address tells OWNER@mail_domain. Empty: only jobs with an address send mails."`
	MailUser         string            `toml:"mail_user" doc:"Name for the login at mail_host. Empty: qb does not log in."`
	MailPasswordFile string            `toml:"mail_password_file" doc:"File with the password of mail_user, mode 0600, of the supervisor's user. It is read for each mail."`
}

// DefaultConfig is what an empty qb.conf means.
func DefaultConfig() Config {
	return Config{
		Listen:         "127.0.0.1:50001",
		ShareMode:      "jobs",
		SharePreempt:   "aggressive",
		DefaultMaxCPUs: -1,
		MaxCPUsLimit:   100,
		NoLicence:      map[string]string{}, NoLicenceExits: map[string]string{},
		OpenJDTemplates: map[string]string{}, OpenJDAmounts: map[string]string{}, OpenJDAttributes: map[string]string{},
		FlamencoStorage: map[string]string{},
		ResourceAge:     Duration(10 * time.Minute),
		ResourceWait:    Duration(30 * time.Second),
		UserLimit:       -1, PGrpLimit: -1, AccountLimit: -1,
		ShareUnit: "slots", ShareMinRun: Duration(10 * time.Second),
		ShareSettle:     Duration(2 * time.Second),
		Fairshare:       "off",
		Accounts:        "listed",
		FairsharePE:     "sum",
		FairshareRule:   "tree",
		FairshareHalf:   defaultHalfLife,
		ShareWeights:    "off",
		QueueAlgorithm:  "cluster",
		PointsAge:       1000,
		PointsFairshare: 10_000,
		PointsPriority:  10_000,
		PointsMaxAge:    Duration(7 * 24 * time.Hour),
		Preempt:         "passive", SuspendSlots: "keep",
		DefaultPriority: 9999, PAgendaPriority: 1, PAgendaMost: -1,
		HighestUser:      1,
		MaxPriority:      9999,
		DefaultCluster:   "/",
		MaxItems:         1_000_000,
		DefaultMemory:    2 << 30,
		Placement:        "best_fit",
		MemoryQuantile:   1,
		MemoryMargin:     1.1,
		CPUShare:         "off",
		CPUShareBy:       "users",
		CPUShareSeed:     1,
		CPUShareQuantile: 1,
		TimeFactor:       3,
		AvoidAfter:       2,
		AvoidFor:         Duration(20 * time.Minute),
		HistoryDays:      90, LogMinFree: 1 << 30, AuditEvery: Duration(time.Hour),
		ExecutionLease: Duration(15 * time.Minute),
		Liveness:       Duration(30 * time.Second),
		KillGrace:      Duration(10 * time.Second),
		LoadOnceWait:   Duration(30 * time.Second),
		ShortItem:      Duration(100 * time.Millisecond),
		MailPort:       25, MailTLS: facts.MailStartTLS,
		LogAccess:       "all",
		TokenDays:       TokenDays,
		OIDCScopes:      "profile, email",
		OIDCUserClaim:   "preferred_username",
		OIDCGroupsClaim: "groups",
		OIDCDays:        7,
		AuditDays:       365,
		UserJobs:        10_000,
		UserBytes:       512 << 20,
		UserChoices:     20_000,
		UserStored:      10 << 30,
		JobBytes:        4 << 20,
		UserSubmissions: 600,
		UserBurst:       1000,
		UserSubmitted:   32 << 20,
		UserChanges:     1200,
		TokenStreams:    16,
		TokenFollowed:   64,
	}
}

// Validate tells every setting that cannot be, each with its key, value and way out.
func (c Config) Validate() error {
	var bad []error
	check := func(ok bool, key string, value any, wayOut string) {
		if !ok {
			bad = append(bad, api.BadSetting(key, " = %v: %s", value, wayOut))
		}
	}
	between := func(key string, d, least, most Duration) {
		check(d >= least && d <= most, key, d, fmt.Sprintf("use %s to %s", least, most))
	}
	for field, value := range reflect.ValueOf(c).Fields() {
		allowed := field.Tag.Get("values")
		check(allowed == "" || slices.Contains(strings.Split(allowed, ", "), value.String()), field.Tag.Get("toml"),
			fmt.Sprintf("%q", value), "use one of "+allowed)
	}
	bad = append(bad, CheckListen(c.Listen))
	c.checkTLS(check)
	between("supervisor_fairshare_half_life", c.FairshareHalf, 0, maxHalfLife)
	c.checkDecay(check)
	c.checkMultifactor(check)
	between("supervisor_multifactor_max_age", c.PointsMaxAge, Duration(time.Second), Duration(10*365*24*time.Hour))
	check(c.DefaultMaxCPUs <= MaxCPUs, "supervisor_default_max_cpus", int(c.DefaultMaxCPUs),
		fmt.Sprintf("use \"*\" or 0 to %d", MaxCPUs))
	check(c.MaxCPUsLimit >= 1 && c.MaxCPUsLimit <= MaxCPUs, "supervisor_max_cpus_limit", c.MaxCPUsLimit,
		fmt.Sprintf("use 1 to %d", MaxCPUs))
	check(c.MaxPriority >= 1 && c.MaxPriority <= MaxPriority, "supervisor_max_priority", c.MaxPriority,
		fmt.Sprintf("use 1 to %d", MaxPriority))
	check(c.DefaultPriority >= 1 && c.DefaultPriority <= c.MaxPriority, "supervisor_default_priority", c.DefaultPriority,
		"use 1 to supervisor_max_priority")
	check(c.PAgendaPriority >= 1 && c.PAgendaPriority <= c.MaxPriority, "supervisor_default_p_agenda_priority",
		c.PAgendaPriority, "use 1 to supervisor_max_priority")
	for _, flag := range facts.SettingFlags(c.JobFlags) {
		check(slices.Contains(siteFlags, flag), "supervisor_job_flags", fmt.Sprintf("%q", flag),
			"use "+strings.Join(siteFlags, ", "))
	}
	check(c.HighestUser >= 1 && c.HighestUser <= c.MaxPriority, "supervisor_highest_user_priority", c.HighestUser,
		"use 1 to supervisor_max_priority")
	check(strings.HasPrefix(c.DefaultCluster, "/"), "supervisor_default_cluster", fmt.Sprintf("%q", c.DefaultCluster),
		"begin it with a slash")
	if _, err := fit.SiteOrder(c.DefaultHostOrder); err != nil {
		bad = append(bad, api.BadSetting("supervisor_default_hostorder", ": %v", err))
	}
	c.checkOpenJD(check)
	checkDoors(&c, check)
	if err := c.checkResources(check, between); err != nil {
		bad = append(bad, err)
	}
	_, err := c.instanceLimits()
	bad = append(bad, err)
	check(c.MaxItems >= 1 && c.MaxItems <= 10_000_000, "supervisor_max_items", c.MaxItems, "use 1 to 10000000")
	c.checkNeeds(check)
	c.checkHistory(check)
	c.checkLimits(check)
	c.checkSSO(check)
	c.checkRights(check)
	c.checkMail(check)
	between("supervisor_smart_share_min_run", c.ShareMinRun, 0, Duration(24*time.Hour))
	between("supervisor_smart_share_settle", c.ShareSettle, 0, Duration(time.Hour))
	between("supervisor_smart_share_max_lost", c.ShareMaxLost, 0, Duration(1000*time.Hour))
	between("supervisor_liveness", c.Liveness, Duration(time.Second), Duration(24*time.Hour))
	between("supervisor_execution_lease", c.ExecutionLease, Duration(5*time.Second), Duration(1000*time.Hour))
	between("supervisor_kill_grace", c.KillGrace, 0, Duration(time.Hour))
	between("supervisor_loadonce_wait", c.LoadOnceWait, 0, Duration(time.Hour))
	between("supervisor_short_item", c.ShortItem, 0, Duration(time.Second))
	check(c.ExecutionLease > c.Liveness, "supervisor_execution_lease", c.ExecutionLease,
		fmt.Sprintf("make it longer than supervisor_liveness = %s", c.Liveness))
	return errors.Join(bad...)
}

// CheckListen refuses what is no address.
func CheckListen(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" || strings.ContainsAny(host, "/@ ") {
		return api.BadSetting("supervisor_listen",
			" = %q: write HOST:PORT, such as 127.0.0.1:50001, or 0.0.0.0:50001 for all addresses of the machine", address)
	}
	return nil
}

// TLS says whether the address is served by TLS alone: wherever another machine may reach it, and where there is a
// certificate for it. No setting turns it off.
func (c Config) TLS() bool {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil || c.TLSCert != "" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return host != "localhost" && (err != nil || !ip.IsLoopback())
}

func (c Config) checkTLS(check func(ok bool, key string, value any, wayOut string)) {
	check((c.TLSCert == "") == (c.TLSKey == ""), "supervisor_tls_key", fmt.Sprintf("%q", c.TLSKey),
		"set supervisor_tls_cert and supervisor_tls_key, or neither")
	for _, name := range facts.SplitList(c.Names) {
		check(!strings.ContainsAny(name, "/@: []") || isAddress(name), "supervisor_names", fmt.Sprintf("%q", name),
			"write names or addresses without a port, such as farm.example.org")
	}
}

func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

// LogFolder is where the items' output is kept.
func (c Config) LogFolder() string {
	if c.LogPath != "" || c.State == "" {
		return c.LogPath
	}
	return filepath.Join(c.State, "logs")
}

// siteFlags are what supervisor_job_flags can name: flags that act on any job.
var siteFlags = []string{facts.FlagWrangling, facts.FlagConvertPath, facts.FlagHardLimit, facts.FlagMail,
	facts.FlagMigrate, facts.FlagUninterruptible}

// Policy is the farm's part.
func (c Config) Policy() message.Policy {
	resources, _ := readResources(c.Resources) // Validate has read them
	instances, _ := c.instanceLimits()         // Validate has read them, too
	return message.Policy{
		Resources: resources, Licences: c.licencePolicy(), Instances: instances,
		Share: planner.SharePolicy{
			Mode: c.ShareMode, Preempt: c.SharePreempt, DefaultMaxCPUs: c.DefaultMaxCPUs.Limit(),
			MaxCPUsLimit: c.MaxCPUsLimit, ShareUnit: c.ShareUnit, Promote: true, Order: c.order(),
		},
		Fairshare:       c.fairsharePolicy(),
		Multifactor:     c.multifactorPolicy(),
		PrimaryPreempt:  c.Preempt,
		ReleaseSlots:    c.SuspendSlots == "release",
		DefaultPriority: c.DefaultPriority,
		MaxPriority:     c.MaxPriority,
		JobFlags:        facts.SettingFlags(c.JobFlags),
		Mail:            message.MailPolicy{On: c.MailHost != "", Domain: c.MailDomain != ""},
		DefaultCluster:  c.DefaultCluster,
		HostOrder:       c.DefaultHostOrder,
		MaxItems:        c.MaxItems,
		Liveness:        c.Liveness.Std(),
		ExecutionLease:  c.ExecutionLease.Std(),
		KillGrace:       c.KillGrace.Std(),
		LoadOnceWait:    c.LoadOnceWait.Std(),
		ShortItem:       c.ShortItem.Std(),
		LeaseMargin:     5 * time.Second, WallSlack: 2 * time.Second,
		MinRun:     c.ShareMinRun.Std(),
		MaxLost:    c.ShareMaxLost.Std(),
		Settle:     c.ShareSettle.Std(),
		PlanDelay:  50 * time.Millisecond,
		Memory:     c.MemoryPolicy(),
		CPUShare:   c.cpuSharePolicy(),
		TimeFactor: c.TimeFactor,
		AvoidAfter: c.AvoidAfter,
		AvoidFor:   c.AvoidFor.Std(),
		Limits:     quota.Policy{OpenJobs: c.UserJobs, OpenBytes: int64(c.UserBytes), Choices: c.UserChoices},
	}
}
