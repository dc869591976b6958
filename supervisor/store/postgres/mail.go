package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
	"qb/supervisor/store/rules"
)

const (
	mailContent = `job, owner, recipient, name, state, cause, complete, failed, killed, items, submitted_at, ended_at, tries, due`
	sqlAddMails = `INSERT INTO mail (` + mailContent + `) SELECT ` + mailContent + `
		FROM jsonb_to_recordset($1::jsonb) AS u(job bigint, owner text, recipient text, name text, state text, cause text, complete integer,
		failed integer, killed integer, items integer, submitted_at timestamptz, ended_at timestamptz, tries integer, due timestamptz)`
	// Of all owners the first mails go before the second ones.
	sqlDueMails = `SELECT id, ` + mailContent + ` FROM (SELECT id, ` + mailContent +
		`, row_number() OVER (PARTITION BY owner ORDER BY id) AS place FROM mail WHERE due <= $1) AS m
		ORDER BY place, id LIMIT $2`
	sqlMailsBeyond = `SELECT id, ` + mailContent + ` FROM (SELECT id, ` + mailContent +
		`, row_number() OVER (PARTITION BY owner ORDER BY id) AS place FROM mail) AS m
		WHERE place > $1 ORDER BY id LIMIT $2`
	sqlCountMails = `SELECT count(*) FROM mail`
	sqlTryMail    = `UPDATE mail SET tries = tries + 1, due = $3 WHERE id = $1 AND tries = $2`
	sqlEndMails   = `DELETE FROM mail WHERE id = ANY($1::bigint[])`
)

// mailStatement adds mails; they are normal.
func mailStatement(list []facts.MailFacts) statement {
	return statement{sql: sqlAddMails, args: []any{list}, writes: len(list), what: "adding mails"}
}

// DueMails lists mails that may be tried by then.
func (p *Store) DueMails(ctx context.Context, by time.Time, limit int) ([]facts.MailFacts, error) {
	return readRows(ctx, p.pool, "mails to send", pgx.RowToStructByPos[facts.MailFacts], sqlDueMails,
		rules.Exact(by), limit)
}

// MailsBeyond lists mails of owners who have more than that waiting.
func (p *Store) MailsBeyond(ctx context.Context, most, limit int) ([]facts.MailFacts, error) {
	return readRows(ctx, p.pool, "mails beyond the limit", pgx.RowToStructByPos[facts.MailFacts], sqlMailsBeyond,
		most, limit)
}

// CountMails is how many mails wait.
func (p *Store) CountMails(ctx context.Context) (int, error) {
	n, _, err := readOne(ctx, p.pool, "how many mails wait", pgx.RowTo[int], sqlCountMails)
	return n, err
}

// TryMail notes another try at a mail.
func (p *Store) TryMail(ctx context.Context, epoch int64, m facts.MailFacts, next time.Time) (noted bool, err error) {
	err = p.holding(ctx, epoch, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlTryMail, m.ID, m.Tries, rules.Exact(next))
		noted = tag.RowsAffected() == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("noting a try at the mail of job %d: %w", m.Job, err)
	}
	return noted, nil
}

// EndMails takes mails away.
func (p *Store) EndMails(ctx context.Context, epoch int64, ids []int64, told ...facts.EventFacts) error {
	err := p.holding(ctx, epoch, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlEndMails, ids); err != nil {
			return err
		}
		return eventStatement(epoch, told).exec(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("taking %d mails away: %w", len(ids), err)
	}
	return nil
}
