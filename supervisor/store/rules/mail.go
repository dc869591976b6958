package rules

import "qb/supervisor/job/facts"

// NormalMail is the normal form of a mail: what a store keeps of it.
func NormalMail(m facts.MailFacts) facts.MailFacts {
	for _, s := range []*string{&m.Owner, &m.To, &m.Name, &m.Cause} {
		*s = Clean(*s)
	}
	m.SubmittedAt = Exact(m.SubmittedAt)
	m.EndedAt = Exact(m.EndedAt)
	m.Due = Exact(m.Due)
	return m
}
