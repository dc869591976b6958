package store

import (
	"context"
	"time"

	"qb/supervisor/job/facts"
)

// Mails are the mails that commits have added and that wait to be sent. Changes are transactions of their own that hold
// the epoch, so that the leader alone sends.
type Mails interface {
	// DueMails lists mails that may be tried by then: the first of each owner, the oldest first, then the second of each,
	// and so on.
	DueMails(ctx context.Context, by time.Time, limit int) ([]facts.MailFacts, error)
	// MailsBeyond lists the mails of each owner, except the owner's oldest most.
	MailsBeyond(ctx context.Context, most, limit int) ([]facts.MailFacts, error)
	// CountMails is how many mails wait.
	CountMails(ctx context.Context) (int, error)
	// TryMail notes another try at a mail, and when the one after it is due; false: the mail has gone, or another try was
	// noted.
	TryMail(ctx context.Context, epoch int64, m facts.MailFacts, next time.Time) (bool, error)
	// EndMails deletes mails and adds the events about that. Mails that are gone already are no error.
	EndMails(ctx context.Context, epoch int64, ids []int64, told ...facts.EventFacts) error
}
