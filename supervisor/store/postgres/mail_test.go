package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

func mailOf(owner string, job facts.JobID, due time.Time) facts.AddMail {
	return facts.AddMail{Mail: facts.MailFacts{Job: job, Owner: owner, To: "x@studio.example", Name: "béauty\r\nBcc: all",
		State: facts.FailedJob, Cause: "1 of 3 items failed",
		Complete: 1, Failed: 1, Killed: 1, Items: 3, SubmittedAt: at(1), EndedAt: at(2), Due: due}}
}

func jobsOf(list []facts.MailFacts) (jobs []facts.JobID) {
	for _, m := range list {
		jobs = append(jobs, m.Job)
	}
	return jobs
}

// A mail is read as it was written; a failed commit adds none.
func TestMailsComeWithTheirCommit(t *testing.T) {
	onBoth(t, func(t *testing.T, s both) {
		term := lead(t, s)
		w := mailOf("ann", 7, at(3))
		commit(t, term, w)
		got, err := s.DueMails(ctx, at(3), 10)
		if err != nil || len(got) != 1 || got[0].ID < 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		w.Mail.ID = got[0].ID
		if d := diff(w.Mail, got[0]); d != "" {
			t.Error(d)
		}
		if err := term.Commit(ctx, []facts.Write{mailOf("ann", 8, at(3)), facts.DropAction{Job: 1, Number: 1}}); err == nil {
			t.Fatal("an order that is not there was dropped")
		}
		lead(t, s)
		if n, err := s.CountMails(ctx); n != 1 || err != nil {
			t.Errorf("%d mails after a failed commit, %v", n, err)
		}
	})
}

// Of all owners the first mails come before the second ones, and none before it is due.
func TestMailsAreFair(t *testing.T) {
	onBoth(t, func(t *testing.T, s both) {
		commit(t, lead(t, s), mailOf("ann", 1, at(1)), mailOf("ann", 2, at(1)), mailOf("ann", 3, at(9)),
			mailOf("bob", 4, at(1)), mailOf("ann", 5, at(1)))
		for limit, want := range map[int]string{10: "[1 4 2 5]", 2: "[1 4]"} {
			got, err := s.DueMails(ctx, at(5), limit)
			if err != nil || fmt.Sprint(jobsOf(got)) != want {
				t.Errorf("due are %v, %v, want %s", jobsOf(got), err, want)
			}
		}
		got, err := s.MailsBeyond(ctx, 2, 10)
		if err != nil || fmt.Sprint(jobsOf(got)) != "[3 5]" {
			t.Errorf("beyond two an owner: %v, %v", jobsOf(got), err)
		}
	})
}

// Only the term that leads notes a try or takes a mail away, and of two who try the same mail one does.
func TestMailsAreTheLeaders(t *testing.T) {
	onBoth(t, func(t *testing.T, s both) {
		old := lead(t, s)
		commit(t, old, mailOf("ann", 1, at(1)))
		mails, err := s.DueMails(ctx, at(1), 1)
		if err != nil {
			t.Fatal(err)
		}
		m := mails[0]
		if ok, err := s.TryMail(ctx, old.Epoch(), m, at(60)); !ok || err != nil {
			t.Errorf("the first try: %v, %v", ok, err)
		}
		if ok, err := s.TryMail(ctx, old.Epoch(), m, at(60)); ok || err != nil {
			t.Errorf("another who tries the same: %v, %v", ok, err)
		}
		if due, err := s.DueMails(ctx, at(59), 1); len(due) != 0 || err != nil {
			t.Errorf("due again at once: %v, %v", due, err)
		}
		old.Close(ctx)
		now := lead(t, s)
		mails, err = s.DueMails(ctx, at(60), 1)
		if err != nil || len(mails) != 1 || mails[0].Tries != 1 {
			t.Fatalf("the next term reads %+v, %v", mails, err)
		}
		if _, err := s.TryMail(ctx, old.Epoch(), mails[0], at(70)); !errors.Is(err, store.ErrTermOver) {
			t.Errorf("a try of the old term: %v", err)
		}
		if err := s.EndMails(ctx, old.Epoch(), []int64{m.ID}); !errors.Is(err, store.ErrTermOver) {
			t.Errorf("an end by the old term: %v", err)
		}
		for range 2 { // the second finds it gone
			if err := s.EndMails(ctx, now.Epoch(), []int64{m.ID}); err != nil {
				t.Error(err)
			}
		}
		if ok, err := s.TryMail(ctx, now.Epoch(), mails[0], at(70)); ok || err != nil {
			t.Errorf("a try of a mail that has gone: %v, %v", ok, err)
		}
	})
}

// What became of a mail is in its job's history.
func TestDroppedMailIsInTheHistory(t *testing.T) {
	onPostgres(t, func(t *testing.T, p *Store) {
		term := lead(t, p)
		commit(t, term, facts.PutJob{Job: sampleJob(1)}, mailOf("ann", 1, at(1)))
		mails := must(p.DueMails(ctx, at(1), 1))(t)
		e := facts.FarmEvent(at(2), "mail-dropped",
			facts.Because(facts.ReasonMailRefused, facts.Params{}, "550 no such user"))
		e.Job = 1
		if err := p.EndMails(ctx, term.Epoch(), []int64{mails[0].ID}, e); err != nil {
			t.Fatal(err)
		}
		found := false
		list, _, err := p.FarmHistory(ctx, store.EventQuery{Job: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range list {
			found = found || line.Type == "mail-dropped" && line.Reason == facts.ReasonMailRefused &&
				strings.Contains(line.Cause, "550")
		}
		if n := must(p.CountMails(ctx))(t); !found || n != 0 {
			t.Errorf("in the history: %v, mails left: %d", found, n)
		}
	})
}
