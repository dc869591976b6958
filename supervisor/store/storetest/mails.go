package storetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// memoryMails are the rows of mails, by id.
type memoryMails struct {
	rows map[int64]facts.MailFacts
	last int64
}

func (m *memoryMails) add(mail facts.MailFacts, undo *undoLog) error {
	if mail = rules.NormalMail(mail); !mail.State.Final() || mail.Tries < 0 {
		return fmt.Errorf("a mail of job %d, which is %s", mail.Job, mail.State)
	}
	m.last++
	mail.ID = m.last
	put(undo, m.rows, mail.ID, mail)
	return nil
}

// ranked calls f with each mail that is among those meant, by id, and its place among its owner's.
func (m *memoryMails) ranked(meant func(facts.MailFacts) bool, f func(place int, mail facts.MailFacts)) {
	places := map[string]int{}
	for _, id := range slices.Sorted(maps.Keys(m.rows)) {
		if mail := m.rows[id]; meant(mail) {
			places[mail.Owner]++
			f(places[mail.Owner], mail)
		}
	}
}

// DueMails lists mails that may be tried by then.
func (m *Memory) DueMails(_ context.Context, by time.Time, limit int) (list []facts.MailFacts, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	places := map[int64]int{}
	m.mails.ranked(func(mail facts.MailFacts) bool {
		return !mail.Due.After(rules.Exact(by))
	}, func(place int, mail facts.MailFacts) {
		places[mail.ID] = place
		list = append(list, mail)
	})
	slices.SortStableFunc(list, func(a, b facts.MailFacts) int { return cmp.Compare(places[a.ID], places[b.ID]) })
	return list[:min(limit, len(list))], nil
}

// MailsBeyond lists mails of owners who have more than that waiting.
func (m *Memory) MailsBeyond(_ context.Context, most, limit int) (list []facts.MailFacts, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mails.ranked(func(facts.MailFacts) bool { return true }, func(place int, mail facts.MailFacts) {
		if place > most && len(list) < limit {
			list = append(list, mail)
		}
	})
	return list, nil
}

// CountMails is how many mails wait.
func (m *Memory) CountMails(context.Context) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.mails.rows), nil
}

// TryMail notes another try at a mail.
func (m *Memory) TryMail(_ context.Context, epoch int64, mail facts.MailFacts, next time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.stands(epoch); err != nil {
		return false, err
	}
	row, ok := m.mails.rows[mail.ID]
	if !ok || row.Tries != mail.Tries {
		return false, nil
	}
	row.Tries, row.Due = row.Tries+1, rules.Exact(next)
	m.mails.rows[mail.ID] = row
	return true, nil
}

// EndMails takes mails away.
func (m *Memory) EndMails(_ context.Context, epoch int64, ids []int64, _ ...facts.EventFacts) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.stands(epoch); err != nil {
		return err
	}
	for _, id := range ids {
		delete(m.mails.rows, id)
	}
	return nil
}

// stands returns an error unless the epoch is the latest term's. The caller holds m.mu.
func (m *Memory) stands(epoch int64) error {
	if m.epoch != epoch {
		return fmt.Errorf("%w: epoch %d is no longer the supervisor's", store.ErrTermOver, epoch)
	}
	return nil
}
