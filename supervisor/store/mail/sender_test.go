package mail

import (
	"bytes"
	"context"
	"crypto/x509"
	"io"
	"log/slog"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/storetest"
)

type number struct {
	mu sync.Mutex
	n  float64
}

func (c *number) Add(n float64) { c.mu.Lock(); defer c.mu.Unlock(); c.n += n }
func (c *number) Set(n float64) { c.mu.Lock(); defer c.mu.Unlock(); c.n = n }
func (c *number) get() float64  { c.mu.Lock(); defer c.mu.Unlock(); return c.n }

// rig is a sender on the store in memory with a clock of its own.
type rig struct {
	t       *testing.T
	store   *storetest.Memory
	term    store.Term
	sender  *Sender
	log     bytes.Buffer
	mu      sync.Mutex
	now     time.Time
	events  []facts.EventFacts
	waiting number
	dropped number
	sent    number
	delayed number
}

func newRig(t *testing.T, settings func() Settings) *rig {
	r := &rig{t: t, store: storetest.NewMemory(), now: time.Unix(1_800_000_000, 0)}
	r.sender = New(&Sender{Store: r.store, Settings: settings, Log: slog.New(slog.NewTextHandler(&r.log, nil)),
		Interval: time.Microsecond, Every: time.Millisecond,
		Metrics: Metrics{Sent: &r.sent, Delayed: &r.delayed, Dropped: &r.dropped, Waiting: &r.waiting}})
	r.lead()
	return r
}

func (r *rig) lead() {
	r.t.Helper()
	var err error
	if r.term, err = r.store.Lead(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) as() Term {
	return Term{Epoch: r.term.Epoch(), Now: func() time.Time { r.mu.Lock(); defer r.mu.Unlock(); return r.now },
		Record: func(e facts.EventFacts) { r.mu.Lock(); defer r.mu.Unlock(); r.events = append(r.events, e) }}
}

func (r *rig) end(owner, to string, job facts.JobID) {
	r.t.Helper()
	m := facts.MailFacts{Job: job, Owner: owner, To: to, Name: "beauty", State: facts.FailedJob,
		Cause: "1 of 2 items failed", Complete: 1, Failed: 1, Items: 2,
		SubmittedAt: r.now.Add(-time.Hour), EndedAt: r.now, Due: r.now}
	if err := r.term.Commit(r.t.Context(), []facts.Write{facts.AddMail{Mail: m}}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) look(settled bool) {
	r.t.Helper()
	r.sender.rested = time.Time{}
	if err := r.sender.look(r.t.Context(), r.as(), settled); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) pass(d time.Duration) { r.mu.Lock(); defer r.mu.Unlock(); r.now = r.now.Add(d) }

func (r *rig) left() int {
	n, err := r.store.CountMails(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// A mail says what has ended and to whom it goes by default; once the server has it, its row is gone.
func TestMailIsSent(t *testing.T) {
	s := startServer(t, nil)
	r := newRig(t, s.settings)
	r.end("ada", "", 12)
	r.end("ada", "wranglers@other.example", 12)
	r.look(false)
	got := s.mails()
	if len(got) != 2 || r.left() != 0 || got[0].to != "ada@studio.example" || got[1].to != "wranglers@other.example" ||
		got[0].from != "FROM:<qb@studio.example>" {
		t.Fatalf("%+v, %d left", got, r.left())
	}
	m, err := mail.ReadMessage(strings.NewReader(got[0].text))
	if err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]string{"From": "qb <qb@studio.example>", "To": "<ada@studio.example>",
		"Subject": "Job 12 (beauty) has failed", "Auto-Submitted": "auto-generated"} {
		if m.Header.Get(header) != want {
			t.Errorf("%s: %q, want %q", header, m.Header.Get(header), want)
		}
	}
	body, _ := io.ReadAll(quotedprintable.NewReader(m.Body))
	for _, want := range []string{"Job 12 (beauty) of ada has failed.", "1 complete, 1 failed, 0 killed, of 2",
		"1 of 2 items failed", "qb history 12"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("the mail lacks %q:\n%s", want, body)
		}
	}
}

// Whatever a user calls a job stays one line of text.
func TestHostileNames(t *testing.T) {
	s := startServer(t, nil)
	r := newRig(t, s.settings)
	for n, name := range []string{"x\r\nBcc: all@studio.example\r\n\r\nhello", "\r\n.\r\nMAIL FROM:<x@y>", ".",
		"\u202egnp.exe", strings.Repeat("ä", 5000), "\xff\x00\x1b[2J", "=?utf-8?q?fake?="} {
		m := facts.MailFacts{Job: facts.JobID(n + 1), Owner: "ada", Name: name, Cause: name, State: facts.Complete, Items: 1,
			Complete: 1, SubmittedAt: r.now, EndedAt: r.now, Due: r.now}
		if err := r.term.Commit(t.Context(), []facts.Write{facts.AddMail{Mail: m}}); err != nil {
			t.Fatal(err)
		}
	}
	r.look(false)
	got := s.mails()
	if len(got) != 7 {
		t.Fatalf("%d mails of 7", len(got))
	}
	for _, one := range got {
		for line := range strings.SplitSeq(one.text, "\r\n") {
			if len(line) > 998 || strings.ContainsFunc(line, func(r rune) bool { return r > '~' || r < ' ' && r != '\t' }) {
				t.Errorf("a line is too long or not plain ASCII: %q", line)
			}
		}
		m, err := mail.ReadMessage(strings.NewReader(one.text))
		if err != nil {
			t.Fatal(err)
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		if err != nil || len(m.Header) != 9 || m.Header.Get("Bcc") != "" || one.to != "ada@studio.example" ||
			strings.ContainsAny(subject, "\r\n\u202e\x1b") || len([]rune(subject)) > 200 {
			t.Errorf("%d headers, subject %q, %v", len(m.Header), subject, err)
		}
	}
}

// TestNoAddress: mails are dropped, with an event, if the owner's name is no address, or if the job has no address and
// no domain is set.
func TestNoAddress(t *testing.T) {
	s := startServer(t, nil)
	set := s.settings()
	r := newRig(t, func() Settings { return set })
	for n, owner := range []string{"ada@evil.example>\r\nDATA", "STUDIO\\ada", "ad a", "", "ädä"} {
		r.end(owner, "", facts.JobID(n+1))
	}
	r.look(false)
	set.Domain = ""
	r.end("ada", "", 9)
	r.look(false)
	if len(s.mails()) != 0 || r.left() != 0 || r.dropped.get() != 6 || len(r.events) != 6 {
		t.Fatalf("%d sent, %d left, %v dropped, %d events", len(s.mails()), r.left(), r.dropped.get(), len(r.events))
	}
	for _, e := range r.events {
		if e.Type != "mail-dropped" || e.Reason != facts.ReasonMailAddress || e.Job == 0 {
			t.Errorf("%+v", e)
		}
	}
}

// 5xx is for good, 4xx is not: the mail is tried again, ever later, for a day.
func TestRefusals(t *testing.T) {
	s := startServer(t, nil)
	r := newRig(t, s.settings)
	s.answer("gone@studio.example", "550 5.1.1 no\x1b such user")
	s.answer("busy@studio.example", "450 4.2.0 come back")
	r.end("gone", "", 1)
	r.end("busy", "", 2)
	r.end("ada", "", 3)
	r.look(false)
	if len(s.mails()) != 1 || r.left() != 1 || r.dropped.get() != 1 || r.delayed.get() != 1 {
		t.Fatalf("%d sent, %d left, %v dropped, %v delayed", len(s.mails()), r.left(), r.dropped.get(), r.delayed.get())
	}
	if e := r.events[0]; e.Job != 1 || e.Reason != facts.ReasonMailRefused ||
		!strings.Contains(e.Cause, "550 5.1.1 no such user") || !strings.Contains(r.log.String(), "mail_refused") {
		t.Errorf("event %+v, log %s", e, r.log.String())
	}
	tries := 0.0
	for range 24*60 + 1 {
		r.look(true)
		r.pass(time.Minute)
		tries = r.delayed.get()
	}
	r.pass(lastDelay)
	r.look(true)
	if tries < 20 || tries > 40 || r.left() != 0 || r.events[1].Reason != facts.ReasonMailUnsent {
		t.Errorf("%v tries in a day, %d left, events %+v", tries, r.left(), r.events[1:])
	}
}

func TestDelaysGrow(t *testing.T) {
	var got []time.Duration
	for tries := range 9 {
		got = append(got, delay(tries)/time.Minute)
	}
	if !slices.Equal(got, []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60}) {
		t.Error(got)
	}
}

// Nothing old is dropped in the first moments of a term, whatever there is.
func TestNothingIsDroppedAtOnce(t *testing.T) {
	off := func() Settings { return Settings{} }
	r := newRig(t, off)
	for n := range MostWaiting + 3 {
		r.end("ada", "", facts.JobID(n+1))
	}
	r.end("bob", "", 5000)
	r.pass(25 * time.Hour)
	r.look(false)
	if r.left() != MostWaiting+4 {
		t.Fatalf("%d left at once", r.left())
	}
	r.pass(-25 * time.Hour)
	r.look(true)
	if r.left() != MostWaiting+1 || r.dropped.get() != 3 || r.events[0].Job != MostWaiting+1 ||
		r.events[0].Reason != facts.ReasonMailsWaiting {
		t.Errorf("%d left, %v dropped, %+v", r.left(), r.dropped.get(), r.events[:1])
	}
	r.pass(25 * time.Hour)
	for range (MostWaiting + 1) / atOnce {
		r.look(true)
	}
	if r.look(true); r.left() != 0 {
		t.Errorf("%d left after a day", r.left())
	}
}

// TestChangeOfTerm: a leader that died after it sent a mail leaves the row, and the next leader sends the mail again,
// under the same Message-ID. A leader that was replaced sends nothing.
func TestChangeOfTerm(t *testing.T) {
	s := startServer(t, nil)
	r := newRig(t, s.settings)
	r.end("ada", "", 1)
	failing := &dyingStore{Mails: r.store}
	r.sender.Store = failing
	if err := r.sender.look(t.Context(), r.as(), false); err == nil {
		t.Fatal("the end was noted")
	}
	r.sender.Store = r.store
	old := r.as()
	r.term.Close(t.Context())
	r.lead()
	if err := r.sender.look(t.Context(), old, false); err != nil { // not due yet
		t.Fatal(err)
	}
	r.pass(2 * time.Minute)
	if err := r.sender.look(t.Context(), old, false); err == nil || len(s.mails()) != 1 {
		t.Fatalf("the old leader sent %d mails, %v", len(s.mails()), err)
	}
	r.look(false)
	got := s.mails()
	if len(got) != 2 || got[0].text != got[1].text || r.left() != 0 {
		t.Errorf("%d mails, %d left, alike: %v", len(got), r.left(), got[0].text == got[len(got)-1].text)
	}
}

type dyingStore struct{ store.Mails }

func (dyingStore) EndMails(context.Context, int64, []int64, ...facts.EventFacts) error {
	return store.ErrTermOver
}

// Run comes to an end at once, even while the server says nothing.
func TestRunEnds(t *testing.T) {
	s := startServer(t, func(s *server) { s.stall = true })
	r := newRig(t, s.settings)
	r.end("ada", "", 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); r.sender.Run(ctx, r.as()) }()
	time.Sleep(50 * time.Millisecond)
	cancel()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on")
	}
	if r.left() != 1 || r.waiting.get() != 0 {
		t.Errorf("%d left; one who does not lead counts %v", r.left(), r.waiting.get())
	}
}

// A server that cannot be reached is left alone for a while, and the mails wait.
func TestServerIsGone(t *testing.T) {
	s := startServer(t, nil)
	set := s.settings()
	s.listener.Close()
	r := newRig(t, func() Settings { return set })
	for n := range 5 {
		r.end("ada", "", facts.JobID(n+1))
	}
	r.look(false)
	if r.delayed.get() != 1 || r.left() != 5 || !strings.Contains(r.log.String(), "refused") {
		t.Errorf("%v tries, %d left, log %s", r.delayed.get(), r.left(), r.log.String())
	}
}

// TestPace: the number of mails in a period is limited, for all owners together.
func TestPace(t *testing.T) {
	s := startServer(t, nil)
	r := newRig(t, s.settings)
	r.sender.Interval = 30 * time.Millisecond
	r.sender = New(r.sender)
	for n := range 5 {
		r.end("ada", "", facts.JobID(n+1))
	}
	began := time.Now()
	r.look(false)
	if _, err := r.sender.Test(t.Context(), "ada@studio.example"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 5*30*time.Millisecond || len(s.mails()) != 6 {
		t.Errorf("%d mails in %v", len(s.mails()), took)
	}
}

// trust lets this process take the server's certificate.
func trust(t *testing.T, s *server) func(*Settings) {
	cert, err := x509.ParseCertificate(s.cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return func(set *Settings) { set.roots = pool }
}

func TestLoginAndEncryption(t *testing.T) {
	good, bad := filepath.Join(t.TempDir(), "good"), filepath.Join(t.TempDir(), "bad")
	for name, text := range map[string]string{good: "secret\n", bad: "hunter2"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name   string
		server func(*server)
		set    func(*Settings)
		trust  bool
		user   string
		says   string // "": accepted
	}{
		{"starttls", func(s *server) { s.starttls = true }, func(c *Settings) { c.TLS = facts.MailStartTLS }, true, "", ""},
		{"unknown certificate", func(s *server) { s.starttls = true }, func(c *Settings) { c.TLS = facts.MailStartTLS }, false, "", "certificate"},
		{"no starttls", nil, func(c *Settings) { c.TLS = facts.MailStartTLS }, true, "", `mail_tls = "none"`},
		{"plain", func(s *server) { s.starttls, s.login = true, "PLAIN LOGIN" }, func(c *Settings) { c.TLS, c.User, c.PasswordFile = facts.MailStartTLS, "ada", good }, true, "ada", ""},
		{"login", func(s *server) { s.starttls, s.login = true, "LOGIN" }, func(c *Settings) { c.TLS, c.User, c.PasswordFile = facts.MailStartTLS, "ada", good }, true, "ada", ""},
		{"wrong password", func(s *server) { s.starttls, s.login = true, "PLAIN" }, func(c *Settings) { c.TLS, c.User, c.PasswordFile = facts.MailStartTLS, "ada", bad }, true, "", "535"},
		{"no file", func(s *server) { s.starttls, s.login = true, "PLAIN" }, func(c *Settings) { c.TLS, c.User, c.PasswordFile = facts.MailStartTLS, "ada", good+"x" }, true, "", "mail_password_file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := startServer(t, tc.server)
			set := s.settings()
			tc.set(&set)
			if tc.trust {
				trust(t, s)(&set)
			}
			r := newRig(t, func() Settings { return set })
			done, err := r.sender.Test(t.Context(), "ada@studio.example")
			if err != nil || done.Accepted != (tc.says == "") || !strings.Contains(done.Answer, tc.says) ||
				strings.Contains(done.Answer+r.log.String(), "hunter2") {
				t.Fatalf("%+v, %v", done, err)
			}
			if tc.says == "" {
				if got := s.mails(); len(got) != 1 || got[0].user != tc.user || !got[0].encrypted ||
					!strings.Contains(done.Answer, "4711") {
					t.Errorf("%+v: %+v", done, got)
				}
			}
			// What is wrong with the settings costs no mail.
			if r.end("ada", "", 1); tc.says != "" {
				if r.look(false); r.left() != 1 || r.dropped.get() != 0 {
					t.Errorf("%d left, %v dropped", r.left(), r.dropped.get())
				}
			}
		})
	}
}
