package mail

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"time"

	"qb/internal/statedir"
	"qb/supervisor/job/facts"
)

const (
	connectWithin = 10 * time.Second
	sessionWithin = time.Minute // all that is said with the server about one mail
	maxHeard      = 256 << 10   // bytes of the server in one session, its certificates included
	maxAnswer     = 300         // characters of what the server says that are passed on
)

// refusal is what the server says against one mail.
type refusal struct {
	text    string
	forGood bool
}

func (r *refusal) Error() string { return r.text }

func (s *Settings) address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// send gives the mail to the server and returns its last answer. A *refusal is about this mail; any other error is
// about the server or the way to it.
func (s *Settings) send(ctx context.Context, to string, message []byte) (answer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, sessionWithin)
	defer cancel()
	conn, err := s.dial(ctx)
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // it ends what waits on the connection
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return "", errors.Join(err, conn.Close())
	}
	c, err := smtp.NewClient(conn, s.Host)
	if err != nil { // it has closed the connection
		return "", said("the greeting", err)
	}
	defer c.Close()
	if err := s.greet(c); err != nil {
		return "", err
	}
	if answer, err = give(c.Text, s.From, to, message); err == nil {
		_ = c.Quit() // the mail is the server's now
	}
	return answer, err
}

func (s *Settings) dial(ctx context.Context) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: connectWithin}
	conn, err := dialer.DialContext(ctx, "tcp", s.address())
	if err != nil {
		return nil, err
	}
	conn = &bounded{conn, maxHeard}
	if s.TLS == facts.MailTLS {
		conn = tls.Client(conn, s.tls())
	}
	return conn, nil
}

// bounded is a connection on which not too much is heard.
type bounded struct {
	net.Conn
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the mail server says too much")
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func (s *Settings) tls() *tls.Config {
	return &tls.Config{ServerName: s.Host, RootCAs: s.roots, MinVersion: tls.VersionTLS12}
}

// greet says hello, encrypts and logs in, as the settings say.
func (s *Settings) greet(c *smtp.Client) error {
	name, err := os.Hostname()
	if err != nil || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		name = "localhost"
	}
	if err := c.Hello(name); err != nil {
		return said("EHLO", err)
	}
	if s.TLS == facts.MailStartTLS {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return errors.New(
				`the mail server offers no STARTTLS; for a server that you trust without encryption set mail_tls = "none"`)
		}
		if err := c.StartTLS(s.tls()); err != nil {
			return said("STARTTLS", err)
		}
	}
	if s.User == "" {
		return nil
	}
	password, err := statedir.ReadSecret(s.PasswordFile)
	if err != nil {
		return fmt.Errorf("cannot read mail_password_file: %w", err)
	}
	_, methods := c.Extension("AUTH")
	if err := c.Auth(login(methods, s.User, password, s.Host)); err != nil {
		return said("the login", err)
	}
	return nil
}

// give says from whom and to whom a mail is, and the mail. It uses no extension of SMTP: the mail is ASCII, so any
// server further on can take it.
func give(t *textproto.Conn, from, to string, message []byte) (answer string, err error) {
	for _, step := range []struct {
		command string
		code    int
	}{{"MAIL FROM:<" + from + ">", 250}, {"RCPT TO:<" + to + ">", 25}, {"DATA", 354}} {
		if err := t.PrintfLine("%s", step.command); err != nil {
			return "", err
		}
		if _, _, err := t.ReadResponse(step.code); err != nil {
			return "", refusalOf(step.command, err)
		}
	}
	w := t.DotWriter()
	if _, err := bytes.NewReader(message).WriteTo(w); err != nil {
		return "", errors.Join(err, w.Close())
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	code, text, err := t.ReadResponse(250)
	if err != nil {
		return "", refusalOf("the mail", err)
	}
	return fmt.Sprintf("%d %s", code, plain(text, maxAnswer)), nil
}

// Codes with which a server asks for a login or encryption first: the settings are wrong, not the mail.
var wantsLogin = map[int]bool{530: true, 534: true, 535: true, 538: true}

// refusalOf is what the server said against a mail, or the error if it is something else.
func refusalOf(what string, err error) error {
	answered, ok := errors.AsType[*textproto.Error](err)
	if !ok || answered.Code < 400 || wantsLogin[answered.Code] || answered.Code == 421 { // 421: it closes the connection
		return said(what, err)
	}
	return &refusal{said(what, err).Error(), answered.Code >= 500}
}

// said is an error with what the server answered to, in a form that can be shown.
func said(what string, err error) error {
	if answered, ok := errors.AsType[*textproto.Error](err); ok {
		return fmt.Errorf("%d %s (after %s)", answered.Code, plain(answered.Msg, maxAnswer), what)
	}
	// it may have what the server said, or its certificate
	return fmt.Errorf("%s: %s", what, plain(err.Error(), maxAnswer))
}

// login chooses PLAIN, or LOGIN for a server that has nothing else. net/smtp refuses PLAIN on a connection that is
// neither encrypted nor local, and so does plainLogin.
func login(methods, user, password, host string) smtp.Auth {
	for method := range strings.FieldsSeq(methods) {
		if strings.EqualFold(method, "PLAIN") {
			return smtp.PlainAuth("", user, password, host)
		}
	}
	return &plainLogin{user: user, password: password}
}

// plainLogin is the method LOGIN: the server asks for the name, then for the password.
type plainLogin struct {
	user, password string
	asked          int
}

// Start begins the login, if the connection cannot be read by others.
func (l *plainLogin) Start(server *smtp.ServerInfo) (method string, first []byte, err error) {
	if !server.TLS && !facts.IsLocalHost(server.Name) {
		return "", nil, errors.New("the connection is not encrypted")
	}
	return "LOGIN", nil, nil
}

// Next answers a question.
func (l *plainLogin) Next(_ []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	l.asked++
	switch l.asked {
	case 1:
		return []byte(l.user), nil
	case 2:
		return []byte(l.password), nil
	}
	return nil, errors.New("the mail server asks for more than a name and a password")
}
