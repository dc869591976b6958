package settings

import (
	"fmt"
	"time"
)

const (
	maxHistoryDays = 36_500
	maxRetention   = Duration(maxHistoryDays * Day)
)

// checkHistory looks at what concerns the age of things that ended.
func (c Config) checkHistory(check func(ok bool, key string, value any, wayOut string)) {
	check(c.HistoryDays >= 0 && c.HistoryDays <= maxHistoryDays, "supervisor_history_days", c.HistoryDays,
		fmt.Sprintf("use 1 to %d, or 0 for never", maxHistoryDays))
	check(c.JobRetention >= 0 && c.JobRetention <= maxRetention, "supervisor_job_retention", c.JobRetention,
		fmt.Sprintf("use at most %s, or 0 for never", maxRetention))
	check(c.LogRetention == 0 || c.LogRetention >= Duration(time.Hour) && c.LogRetention <= maxRetention,
		"supervisor_log_retention", c.LogRetention,
		fmt.Sprintf("use %s to %s, or 0 for never", Duration(time.Hour), maxRetention))
	check(c.AuditEvery == 0 || c.AuditEvery.Std() >= time.Minute && c.AuditEvery.Std() <= Day, "supervisor_audit_every",
		c.AuditEvery, "use 1m to 24h, or 0 for never")
	check(c.LogMinFree >= 0, "supervisor_log_min_free", c.LogMinFree, "use 0 or more, such as 10GiB")
	if c.JobRetention > 0 {
		check(c.HistoryDays > 0 && c.JobRetention >= Duration(c.HistoryDays)*Duration(Day), "supervisor_job_retention",
			c.JobRetention,
			fmt.Sprintf("use at least supervisor_history_days = %d, which must not be 0: a job can be removed once its usage is in the daily sums",
				c.HistoryDays))
	}
}
