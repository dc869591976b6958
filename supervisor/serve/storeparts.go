package serve

import (
	"qb/supervisor/store/history"
	"qb/supervisor/store/mail"
	"qb/supervisor/wire/settings"
)

// historyLimits is what of the history is old.
func historyLimits(c *settings.Config) history.Limits {
	return history.Limits{
		HistoryDays: c.HistoryDays, JobRetention: c.JobRetention.Std(), LogRetention: c.LogRetention.Std(),
		LogMinFree: int64(c.LogMinFree), AuditDays: c.AuditDays, HalfLife: c.HalfLife(),
	}
}

// mailSettings is the mail server's part.
func mailSettings(c *settings.Config) mail.Settings {
	return mail.Settings{
		Host:         c.MailHost,
		Port:         c.MailPort,
		TLS:          c.MailTLS,
		From:         c.MailSender(),
		Domain:       c.MailDomain,
		User:         c.MailUser,
		PasswordFile: c.MailPasswordFile,
	}
}
