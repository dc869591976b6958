package settings

import (
	"fmt"

	"qb/supervisor/job/facts"
)

// Limits of what can be set, and of requests.
const (
	maxLimit      = 100_000_000
	leastJobBytes = 1 << 10
	TokenDays     = 90 // of a token, by default
	TokenDaysMost = 3650
	MaxCPUs       = facts.MaxCPUs
	MaxPriority   = facts.MaxPriority // the worst that a request may name
)

// checkLimits looks at what bounds users and tokens.
func (c Config) checkLimits(check func(ok bool, key string, value any, wayOut string)) {
	count := func(key string, n int) {
		check(n >= 0 && n <= maxLimit, key, n, fmt.Sprintf("use 1 to %d, or 0 for no limit", maxLimit))
	}
	check(c.TokenDays >= 2 && c.TokenDays <= TokenDaysMost, "supervisor_token_days", c.TokenDays,
		fmt.Sprintf("use 2 to %d", TokenDaysMost))
	check(c.AuditDays == 0 || c.AuditDays >= 30 && c.AuditDays <= maxHistoryDays, "supervisor_audit_days", c.AuditDays,
		"use 30 or more, or 0 for ever")
	count("supervisor_user_jobs", c.UserJobs)
	count("supervisor_user_choices", c.UserChoices)
	count("supervisor_user_submissions", c.UserSubmissions)
	count("supervisor_user_changes", c.UserChanges)
	count("supervisor_token_streams", c.TokenStreams)
	count("supervisor_token_followed_logs", c.TokenFollowed)
	check(c.UserBurst >= 1 && c.UserBurst <= maxLimit, "supervisor_user_burst", c.UserBurst,
		fmt.Sprintf("use 1 to %d", maxLimit))
	check(c.UserBytes >= 0, "supervisor_user_bytes", c.UserBytes, "use 0 or more, such as 512MiB")
	check(c.UserStored >= 0, "supervisor_user_stored", c.UserStored, "use 0 or more, such as 10GiB")
	check(c.UserSubmitted >= 0, "supervisor_user_submitted", c.UserSubmitted, "use 0 or more, such as 32MiB")
	check(c.JobBytes == 0 || c.JobBytes >= leastJobBytes, "supervisor_job_bytes", c.JobBytes,
		"use at least 1kB, or 0 for no limit")
}
