package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"qb/cmd/qb/output"
	workersettings "qb/worker/settings"
)

// clash is a combination of settings that are allowed, each by itself, and of which one has no effect or works against
// the other. It is a warning: nothing is refused for it.
type clash struct {
	keys    []string // the one whose line is named first
	applies func(c *Config) bool
	happens string
	wayOut  string
}

// unlike says that a setting has another value than its default: the file that `qb config example` prints warns of
// nothing.
func (c *Config) unlike(key string) bool {
	mine, usual := c.settings(), (&Config{Keys: defaultKeys()}).settings()
	n := slices.IndexFunc(mine, func(s setting) bool { return s.key == key })
	return !reflect.DeepEqual(mine[n].value.Interface(), usual[n].value.Interface())
}

// changed is the key of a rule that holds wherever that key is not at its default.
func changed(key string, and func(c *Config) bool) func(c *Config) bool {
	return func(c *Config) bool { return and(c) && c.unlike(key) }
}

// without are the rules of keys that have no effect while another key's value makes them so.
func without(other string, holds func(c *Config) bool, happens, wayOut string, keys ...string) (rules []clash) {
	for _, key := range keys {
		rules = append(rules, clash{[]string{key, other}, changed(key, holds), happens, wayOut})
	}
	return rules
}

// Of keys that concern secondaries alone.
var withoutSecondaries = slices.Concat(
	without("supervisor_smart_share_mode", func(c *Config) bool { return c.ShareMode == "none" },
		"no job gets secondary instances, so it has no effect", `set supervisor_smart_share_mode to "jobs" or "users", or remove the key`,
		"supervisor_smart_share_preempt_policy", "supervisor_default_max_cpus", "supervisor_smart_share_unit",
		"supervisor_smart_share_weights",
		"supervisor_smart_share_min_run", "supervisor_smart_share_settle", "supervisor_smart_share_max_lost"),
	without("supervisor_smart_share_preempt_policy", func(c *Config) bool {
		return c.ShareMode != "none" &&
			c.SharePreempt != "aggressive"
	},
		"no secondary is stopped before its item's end, so it has no effect", `set supervisor_smart_share_preempt_policy to "aggressive", or remove the key`,
		"supervisor_smart_share_min_run", "supervisor_smart_share_settle", "supervisor_smart_share_max_lost"),
)

// Of keys that matter where items run as their owners, where pictures are made, that single sign-on alone reads, and
// that matter where mails are sent.
var switchedOff = slices.Concat(
	without("worker_run_as", func(c *Config) bool { return c.RunAs == workersettings.RunAsAgent },
		"all items run as the worker's own user, so it has no effect", `set worker_run_as to "owner", or remove the key`,
		"worker_allow_root", "worker_lowest_uid", "worker_low_users_file"),
	without("worker_pictures", func(c *Config) bool { return !c.Pictures },
		"no pictures are made, so it has no effect", "set worker_pictures to true, or remove the key",
		"worker_picture_command"),
	without("supervisor_oidc_issuer", func(c *Config) bool { return c.OIDCIssuer == "" },
		"there is no single sign-on, so it has no effect", "set supervisor_oidc_issuer, or remove the key",
		"supervisor_oidc_client_id", "supervisor_oidc_client_secret_file", "supervisor_oidc_domain", "supervisor_oidc_admit"),
	without("mail_host", func(c *Config) bool { return c.MailHost == "" },
		"no mails are sent, so it has no effect", "set mail_host, or remove the key",
		"mail_domain", "mail_from", "mail_user"),
)

// byPoints says that jobs are ordered by points.
func (c *Config) byPoints() bool { return c.QueueAlgorithm == "multifactor" }

// Of the points.
var withoutPoints = without("supervisor_queue_algorithm", func(c *Config) bool { return !c.byPoints() },
	"jobs are not ordered by points, so it has no effect", `set supervisor_queue_algorithm to "multifactor", or remove the key`,
	"supervisor_multifactor_age", "supervisor_multifactor_fairshare", "supervisor_multifactor_priority",
	"supervisor_multifactor_size", "supervisor_multifactor_max_age")

// clashes are all rules.
func clashes() []clash {
	return slices.Concat(withoutSecondaries, sharing, ranking, withoutPoints, needs, switchedOff, bounds)
}

// Of the surplus and the slot time.
var sharing = []clash{
	{[]string{"supervisor_smart_share_preempt_policy", "supervisor_preempt_policy"},
		func(c *Config) bool {
			return c.ShareMode != "none" && c.SharePreempt == "disabled" && c.Preempt == "disabled"
		},
		"nothing makes room for a waiting primary: a wide job keeps all that it got, and jobs over a budget with -over idle return nothing, until their items are done",
		`set one of the two to "passive"`},
	{[]string{"supervisor_default_max_cpus", "supervisor_max_cpus_limit"},
		func(c *Config) bool { return int(c.DefaultMaxCPUs) > c.MaxCPUsLimit },
		"the limit lowers the default of each job", "make the default at most the limit"},
	{[]string{"supervisor_cpu_share_by", "supervisor_cpu_share"},
		changed("supervisor_cpu_share_by", func(c *Config) bool { return c.CPUShare == "off" }),
		"slot time is not shared, so it has no effect", `set supervisor_cpu_share to "stride" or "lottery", or remove the key`},
	{[]string{"supervisor_cpu_share_seed", "supervisor_cpu_share"},
		changed("supervisor_cpu_share_seed", func(c *Config) bool { return c.CPUShare != "lottery" }),
		"there is no lottery, so it has no effect", `set supervisor_cpu_share to "lottery", or remove the key`},
	{[]string{"supervisor_cpu_share_by", "supervisor_smart_share_mode"},
		func(c *Config) bool { return c.CPUShare != "off" && c.CPUShareBy == "jobs" && c.ShareMode == "users" },
		"secondaries are divided by user, but slot time by job: ten jobs of a user have ten parts of the primaries' slot time", `set supervisor_cpu_share_by to "users"`},
	{[]string{"supervisor_cpu_share", "supervisor_queue_algorithm"},
		func(c *Config) bool { return c.CPUShare != "off" && c.byPoints() && c.PointsAge > 0 },
		"slot time is shared among jobs with equal points, and with points for age hardly two jobs have them",
		"set supervisor_multifactor_age to 0, or choose one of the two"},
	{[]string{"supervisor_cpu_share", "supervisor_fairshare"},
		func(c *Config) bool { return c.CPUShare != "off" && c.Fairshare == "order" && !c.byPoints() },
		"slot time is shared only among users whose fairshare factors are equal in steps of 0.01: past usage goes first",
		"set one of the two to \"off\", if that is not what you want"},
}

// Of fairshare and accounts.
var ranking = []clash{
	{[]string{"supervisor_fairshare", "supervisor_queue_algorithm"},
		func(c *Config) bool { return c.Fairshare == "order" && c.byPoints() },
		"the order is that of the points, so it has no effect",
		"give supervisor_multifactor_fairshare the points that it is worth, and remove the key"},
	{[]string{"supervisor_fairshare", "supervisor_highest_user_priority"},
		func(c *Config) bool {
			return c.Fairshare == "order" && !c.byPoints() && c.HighestUser > 1 && c.HighestUser < c.DefaultPriority
		},
		"usage ranks jobs of equal priority, and every user may request a better one than the default",
		"remove supervisor_highest_user_priority, and usage ranks owners before priorities do, or set it to supervisor_default_priority"},
	{[]string{"supervisor_fairshare_rule", "supervisor_fairshare"},
		changed("supervisor_fairshare_rule", func(c *Config) bool {
			return c.Fairshare == "off" && c.ShareWeights == "off" &&
				!c.byPoints()
		}),
		"usage is counted and shown, and budgets bar, but it ranks nobody", `set supervisor_fairshare to "order", or remove the key`},
	{[]string{"supervisor_fairshare_rule", "supervisor_accounts"},
		func(c *Config) bool { return c.FairshareRule == "fair_tree" && c.Accounts == "open" },
		"accounts are tags for reports, so there is no tree whose accounts could be compared first", `set supervisor_accounts to "listed"`},
	{[]string{"supervisor_fairshare_half_life"}, changed("supervisor_fairshare_half_life",
		func(c *Config) bool { return c.FairshareHalf == 0 && c.DecayFactor == 0 }),
		"usage never decays: a budget without -per that is used up bars for good, and a past is never forgotten",
		"set a half-life, or give each budget -per"},
}

// Of memory, hosts and people.
var needs = []clash{
	{[]string{"supervisor_memory_margin", "supervisor_memory_quantile"},
		changed("supervisor_memory_margin", func(c *Config) bool { return c.MemoryQuantile == 1 }),
		"the largest peak counts as it is, so the margin has no effect",
		"set supervisor_memory_quantile below 1, such as 0.95, or remove the key"},
	{[]string{"supervisor_placement", "supervisor_default_hostorder"},
		changed("supervisor_placement", func(c *Config) bool { return c.DefaultHostOrder != "" }),
		"the host order replaces the placement of each job that gives none", "remove one of the two"},
	{[]string{"worker_swap_limit", "supervisor_smart_share_mode"},
		func(c *Config) bool { return c.SwapLimit > 0 && c.ShareMode == "none" },
		"a host that swaps takes no new items, but there is no secondary that it could give back", `set supervisor_smart_share_mode to "jobs" or "users", if what runs should give way too`},
}

// Of limits and retention.
var bounds = []clash{
	{[]string{"supervisor_log_retention", "supervisor_job_retention"},
		func(c *Config) bool {
			return c.JobRetention > 0 && c.LogRetention >= c.JobRetention
		},
		"logs are deleted with their jobs, so it has no effect",
		"make it shorter than supervisor_job_retention, or remove it"},
	{[]string{"supervisor_user_burst", "supervisor_user_submissions"},
		changed("supervisor_user_burst", func(c *Config) bool { return c.UserSubmissions == 0 }),
		"submissions are not limited, so it has no effect", "set supervisor_user_submissions, or remove the key"},
	{[]string{"supervisor_oidc_token_days", "supervisor_token_days"},
		changed("supervisor_oidc_token_days", func(c *Config) bool { return c.OIDCIssuer != "" && c.OIDCDays > c.TokenDays }),
		"supervisor_token_days shortens these tokens too", "make it at most supervisor_token_days"},
	{[]string{"supervisor_default_priority", "supervisor_highest_user_priority"},
		func(c *Config) bool { return c.DefaultPriority < c.HighestUser },
		"a job that asks for no priority gets a better one than a user may ask for",
		"make supervisor_highest_user_priority at most supervisor_default_priority"},
}

// warnings are the clashes of a configuration, in the order of the file.
func (c *Config) warnings() (all problems) {
	for _, one := range clashes() {
		if one.applies(c) {
			all = append(all, problem{c.lineOf(one.keys), c.warning(one)})
		}
	}
	all = append(all, c.widthWarnings()...)
	all.sort()
	return all
}

// widthWarnings are of negative widths that could be meant as differences.
func (c *Config) widthWarnings() (all problems) {
	remarks := c.SupervisorKeys.WidthRemarks()
	for _, key := range slices.Sorted(maps.Keys(remarks)) {
		text := "warning: " + key + ": " + remarks[key]
		if from := c.Origins[key]; from != "" {
			text = from + ": " + text
		}
		all = append(all, problem{c.lines[key], output.Escape(text)})
	}
	all.sort()
	return all
}

func (c *Config) lineOf(keys []string) int {
	for _, key := range keys {
		if line := c.lines[key]; line > 0 {
			return line
		}
	}
	return 0
}

// warning is a rule in words, with the values that clash and where the first of them was written.
func (c *Config) warning(one clash) string {
	values, origin := map[string]string{}, ""
	for _, s := range c.settings() {
		values[s.key] = s.shown()
	}
	var said []string
	for _, key := range one.keys {
		said = append(said, key+" = "+values[key])
		if origin == "" && c.Origins[key] != "" {
			origin = c.Origins[key] + ": "
		}
	}
	return output.Escape(fmt.Sprintf("%swarning: %s: %s; %s", origin, strings.Join(said, " with "), one.happens,
		one.wayOut))
}
