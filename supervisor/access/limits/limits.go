package limits

import (
	"fmt"
	"strings"

	"qb/agenda"
	"qb/api"
	"qb/internal/units"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/quota"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
)

// Users are the limits on what each user does.
type Users struct {
	config func() *settings.Config
	*rates
	*storedBytes
}

// NewUsers limits users by the configuration in force; reader sums up what their jobs take.
func NewUsers(config func() *settings.Config, reader store.Reader) *Users {
	return &Users{config, newRates(config), newStoredBytes(config, reader)}
}

// Of are the limits of a user that are nearly used up, or that refused him something lately.
func (u *Users) Of(user string, use quota.Use) []api.Limit {
	list := []api.Limit{}
	used, most := u.usedBy(user, use), most(u.config())
	for _, name := range Names {
		l := api.Limit{Limit: name, Used: used[name], Most: most[name], Refused: u.lately(user, name)}
		if off := l.Most == 0 && name != quota.LimitFarmJobs; off || l.Refused == 0 && !nearlyUsedUp(l) {
			continue
		}
		l.Text = strings.NewReplacer("{user}", user, "{used}", agenda.Grouped(l.Used), "{most}", agenda.Grouped(l.Most),
			"{used bytes}", units.Size(l.Used), "{most bytes}", units.Size(l.Most), "{way out}", u.wayOut()).Replace(texts[name])
		if l.Refused > 0 {
			l.Text += fmt.Sprintf("; calls refused in the last minutes: %s", agenda.Grouped(int64(l.Refused)))
		}
		list = append(list, l)
	}
	return list
}

// nearlyUsedUp: a twentieth is left, or less.
func nearlyUsedUp(l api.Limit) bool { return l.Most > 0 && l.Used >= l.Most-l.Most/20 }

// usedBy is how much a user has of what adds up.
func (u *Users) usedBy(user string, use quota.Use) map[string]int64 {
	return map[string]int64{
		quota.LimitOpenJobs: int64(use.Jobs), quota.LimitOpenBytes: use.Bytes, quota.LimitChoices: int64(use.Choices),
		problem.LimitStored: u.used(user),
	}
}

// most is how much a user may have; 0 is no limit.
func most(c *settings.Config) map[string]int64 {
	return map[string]int64{
		quota.LimitOpenJobs: int64(c.UserJobs), quota.LimitOpenBytes: int64(c.UserBytes),
		quota.LimitChoices:  int64(c.UserChoices),
		message.LimitOrders: message.MaxOrders, problem.LimitStored: int64(c.UserStored), JobBytes: int64(c.JobBytes),
		Submissions: int64(c.UserSubmissions), Checks: int64(c.UserSubmissions), Submitted: int64(c.UserSubmitted),
		Changes: int64(c.UserChanges),
		Streams: int64(c.TokenStreams), Followed: int64(c.TokenFollowed),
		Heavy: HeavyOfOne, Reads: ReadsOfOne, Searches: OneOfOne, Agendas: OneOfOne, Trials: OneOfOne, Recalls: OneOfOne,
		Looks: OneOfOne, Sessions: sessionsAMinute,
	}
}

// texts say of a limit what it lets a user do, and what ends that.
var texts = map[string]string{
	quota.LimitFarmJobs:  "the farm holds as many unfinished jobs as it can",
	quota.LimitOpenJobs:  "{user} has {used} of {most} unfinished jobs (supervisor_user_jobs): submissions beyond that are refused until some end",
	quota.LimitOpenBytes: "the unfinished jobs of {user} take {used bytes} of {most bytes} (supervisor_user_bytes): submissions beyond that are refused until some end",
	quota.LimitChoices: "the unfinished jobs of {user} choose hosts by {used} of {most} names and comparisons (supervisor_user_choices): " +
		"more are refused until some jobs end",
	message.LimitOrders: "a job may have {most} orders that are not yet carried out",
	problem.LimitStored: "the jobs of {user}, ended ones included, take {used bytes} of {most bytes} in the database (supervisor_user_stored): " +
		"submissions beyond that are refused; {way out}",
	JobBytes:    "a job of {user} may have {most bytes} (supervisor_job_bytes)",
	Submissions: "{user} may submit {most} jobs a minute (supervisor_user_submissions)",
	Checks:      "{user} may check {most} submissions a minute (supervisor_user_submissions)",
	Submitted:   "{user} may submit and change {most bytes} of jobs a minute (supervisor_user_submitted)",
	Changes:     "{user} may make {most} changes a minute (supervisor_user_changes)",
	Heavy:       "{user} may have {most} calls under way that read all of a job or of the history",
	Reads:       "the database is read in turn, {most} reads of {user} at a time",
	Searches:    "logs are searched in turn, {most} search of {user} at a time",
	Agendas:     "agendas are parsed in turn, {most} of {user} at a time",
	Trials:      "changes are tried in turn, {most} of {user} at a time",
	Recalls:     "ended jobs are read back in turn, {most} of {user} at a time",
	Looks:       "the live farm is looked at in turn, {most} look of {user} at a time",
	Sessions:    "{user} may begin {most} sessions of the page a minute",
	Streams:     "{user} may have {most} event streams open (supervisor_token_streams)",
	Followed:    "{user} may follow {most} logs at a time (supervisor_token_followed_logs)",
}
