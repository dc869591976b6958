package limits

import (
	"fmt"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/farm"
	"qb/supervisor/problem"
	"qb/supervisor/quota"
	"qb/supervisor/settings"
	"qb/supervisor/store"
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
	for _, name := range Names {
		l := u.limitOf(user, name, use)
		if off := l.Most == 0 && name != quota.LimitFarmJobs; off || l.Refused == 0 && !nearlyUsedUp(l) {
			continue
		}
		l.Text = limitText(user, l, u.wayOut())
		if l.Refused > 0 {
			l.Text += fmt.Sprintf("; calls refused in the last minutes: %s", agenda.Grouped(int64(l.Refused)))
		}
		list = append(list, l)
	}
	return list
}

// nearlyUsedUp: a twentieth is left, or less.
func nearlyUsedUp(l api.Limit) bool { return l.Most > 0 && l.Used >= l.Most-l.Most/20 }

// limitOf is where a user is with a limit.
func (u *Users) limitOf(user, name string, use quota.Use) api.Limit {
	c, l := u.config(), api.Limit{Limit: name, Refused: u.lately(user, name)}
	switch name {
	case quota.LimitOpenJobs:
		l.Used, l.Most = int64(use.Jobs), int64(c.UserJobs)
	case quota.LimitOpenBytes:
		l.Used, l.Most = use.Bytes, int64(c.UserBytes)
	case quota.LimitChoices:
		l.Used, l.Most = int64(use.Choices), int64(c.UserChoices)
	case farm.LimitOrders:
		l.Most = farm.MaxOrders
	case problem.LimitStored:
		l.Used, l.Most = u.used(user), int64(c.UserStored)
	case JobBytes:
		l.Most = int64(c.JobBytes)
	case Submissions:
		l.Most = int64(c.UserSubmissions)
	case Submitted:
		l.Most = int64(c.UserSubmitted)
	case Changes:
		l.Most = int64(c.UserChanges)
	case Streams:
		l.Most = int64(c.TokenStreams)
	case Followed:
		l.Most = int64(c.TokenFollowed)
	}
	return l
}

// limitText says of a limit what it lets a user do, and what ends that.
func limitText(user string, l api.Limit, stored string) string {
	switch l.Limit {
	case quota.LimitOpenJobs:
		return fmt.Sprintf("%s has %s of %s unfinished jobs (supervisor_user_jobs): submissions beyond that are refused until some end",
			user, agenda.Grouped(l.Used), agenda.Grouped(l.Most))
	case quota.LimitOpenBytes:
		return fmt.Sprintf("the unfinished jobs of %s take %s of %s (supervisor_user_bytes): submissions beyond that are refused until some end",
			user, facts.Size(l.Used), facts.Size(l.Most))
	case quota.LimitChoices:
		return fmt.Sprintf("the unfinished jobs of %s choose hosts by %s of %s names and comparisons (supervisor_user_choices): more are refused until some jobs end",
			user, agenda.Grouped(l.Used), agenda.Grouped(l.Most))
	case farm.LimitOrders:
		return fmt.Sprintf("a job may have %s orders that are not yet carried out", agenda.Grouped(l.Most))
	case problem.LimitStored:
		return fmt.Sprintf("the jobs of %s, ended ones included, take %s of %s in the database (supervisor_user_stored): submissions beyond that are refused; %s",
			user, facts.Size(l.Used), facts.Size(l.Most), stored)
	case JobBytes:
		return fmt.Sprintf("a job of %s may have %s (supervisor_job_bytes)", user, facts.Size(l.Most))
	case Submissions:
		return fmt.Sprintf("%s may submit %s jobs a minute (supervisor_user_submissions)", user, agenda.Grouped(l.Most))
	case Submitted:
		return fmt.Sprintf("%s may submit and change %s of jobs a minute (supervisor_user_submitted)", user, facts.Size(l.Most))
	case Changes:
		return fmt.Sprintf("%s may make %s changes a minute (supervisor_user_changes)", user, agenda.Grouped(l.Most))
	case Streams:
		return fmt.Sprintf("%s may have %s event streams open (supervisor_token_streams)", user, agenda.Grouped(l.Most))
	case Followed:
		return fmt.Sprintf("%s may follow %s logs at a time (supervisor_token_followed_logs)", user, agenda.Grouped(l.Most))
	}
	return "the farm holds as many unfinished jobs as it can"
}
