package mail

import (
	"bytes"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"strings"
	"time"
	"unicode"

	"qb/supervisor/job/facts"
)

const (
	maxName  = 100 // characters of a job's name in a mail
	maxCause = 500
)

// about is the mail that says that a job has ended.
func about(from, to string, m *facts.MailFacts) []byte {
	title := fmt.Sprintf("Job %d", m.Job)
	if name := plain(m.Name, maxName); name != "" {
		title += " (" + name + ")"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s of %s %s.\n\n", title, plain(m.Owner, maxName), ended(m.State))
	if m.Items > 0 {
		fmt.Fprintf(&text, "Items:     %d complete, %d failed, %d killed, of %d\n", m.Complete, m.Failed, m.Killed, m.Items)
	}
	fmt.Fprintf(&text, "Submitted: %s\nEnded:     %s\n", moment(m.SubmittedAt), moment(m.EndedAt))
	if m.Cause != "" {
		fmt.Fprintf(&text, "Reason:    %s\n", plain(m.Cause, maxCause))
	}
	fmt.Fprintf(&text, "\nqb history %d and qbout %d say more.\n", m.Job, m.Job)
	id := fmt.Sprintf("job%d.%d.%d", m.Job, m.ID, m.EndedAt.Unix())
	return message(from, to, title+" "+ended(m.State), id, m.EndedAt, text.String())
}

// testMail is the mail of qbadmin supervisor -emailtest.
func testMail(from, to string, now time.Time) []byte {
	return message(from, to, "Test of qb's mail settings", fmt.Sprintf("test%d", now.UnixNano()), now,
		"This mail was sent by qbadmin supervisor -emailtest. qb can send mails when jobs end.\n")
}

func ended(state facts.JobState) string {
	switch state {
	case facts.FailedJob:
		return "has failed"
	case facts.KilledJob:
		return "was killed"
	}
	return "is complete"
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// message is a mail of text in UTF-8, sent as ASCII. The addresses are plain; the same id makes the same mail known to
// a program that gets it twice.
func message(from, to, subject, id string, at time.Time, text string) []byte {
	_, domain, _ := strings.Cut(from, "@")
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", "qb <" + from + ">"}, {"To", "<" + to + ">"}, {"Subject", mime.QEncoding.Encode("utf-8", subject)},
		{"Date", at.UTC().Format(time.RFC1123Z)}, {"Message-ID", "<" + id + ".qb@" + domain + ">"},
		{"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"}, {"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	b.WriteString("\r\n")
	body := quotedprintable.NewWriter(&b)
	_, _ = body.Write([]byte(strings.ReplaceAll(text, "\n", "\r\n"))) // into memory
	_ = body.Close()
	return b.Bytes()
}

// plain is text of others on one line, without what is not shown or turns the direction of writing, and not too long.
func plain(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return text
}
