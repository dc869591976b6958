package mail

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"qb/supervisor/job/facts"
)

// server is a mail server. Its answers to RCPT can be chosen by address.
type server struct {
	t        *testing.T
	listener net.Listener
	cert     tls.Certificate
	starttls bool
	login    string // method that it offers, with ada and secret

	mu      sync.Mutex
	answers map[string]string // by recipient; none: 250
	got     []received
	stall   bool // nothing is answered
}

type received struct {
	from, to, text string
	encrypted      bool
	user           string
}

func startServer(t *testing.T, change func(*server)) *server {
	t.Helper()
	https := httptest.NewUnstartedServer(nil)
	https.StartTLS()
	cert := https.TLS.Certificates[0] // of example.com and 127.0.0.1
	https.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, listener: l, cert: cert, answers: map[string]string{}}
	if change != nil {
		change(s)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				s.talk(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return s
}

func (s *server) settings() Settings {
	return Settings{Host: "127.0.0.1", Port: s.listener.Addr().(*net.TCPAddr).Port, TLS: facts.MailPlain, From: "qb@studio.example", Domain: "studio.example"}
}

func (s *server) mails() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received{}, s.got...)
}

func (s *server) answer(to, with string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[to] = with
}

func (s *server) stalls() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stall
}

// talk holds one session. A line that it does not know is answered with 500, so that a smuggled command would be seen.
func (s *server) talk(conn net.Conn) {
	in := bufio.NewReader(conn)
	say := func(format string, args ...any) { fmt.Fprintf(conn, format+"\r\n", args...) }
	hear := func() string {
		line, _ := in.ReadString('\n')
		return strings.TrimSuffix(line, "\r\n")
	}
	if s.stalls() {
		hear()
		return
	}
	say("220 ready")
	var m received
	for {
		line := hear()
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "":
			return
		case "EHLO":
			say("250-here")
			if s.starttls && !m.encrypted {
				say("250-STARTTLS")
			}
			if s.login != "" {
				say("250-AUTH %s", s.login)
			}
			say("250-8BITMIME\r\n250 SMTPUTF8")
		case "STARTTLS":
			say("220 go on")
			secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{s.cert}})
			conn, in, m.encrypted = secure, bufio.NewReader(secure), true
		case "AUTH":
			m.user = s.auth(rest, say, hear)
		case "MAIL":
			m.from = rest
			say("250 fine")
		case "RCPT":
			m.to = strings.Trim(strings.TrimPrefix(rest, "TO:"), "<>")
			s.mu.Lock()
			answer := s.answers[m.to]
			s.mu.Unlock()
			if answer == "" {
				answer = "250 fine"
			}
			say("%s", answer)
		case "DATA":
			say("354 go on")
			m.text = ""
			for line := hear(); line != "."; line = hear() {
				m.text += strings.TrimPrefix(line, ".") + "\r\n"
			}
			s.mu.Lock()
			s.got = append(s.got, m)
			s.mu.Unlock()
			say("250 2.0.0 taken as 4711")
		case "*": // a login is given up
			say("501 as you like")
		case "QUIT":
			say("221 bye")
			return
		default:
			s.t.Errorf("the server hears %q", line)
			say("500 what?")
		}
	}
}

func (s *server) auth(rest string, say func(string, ...any), hear func() string) (user string) {
	text := func(encoded string) string {
		data, _ := base64.StdEncoding.DecodeString(encoded)
		return string(data)
	}
	var name, password string
	if method, first, _ := strings.Cut(rest, " "); method == "PLAIN" {
		fields := strings.Split(text(first), "\x00")
		name, password = fields[1], fields[2]
	} else {
		say("334 %s", base64.StdEncoding.EncodeToString([]byte("Username:")))
		name = text(hear())
		say("334 %s", base64.StdEncoding.EncodeToString([]byte("Password:")))
		password = text(hear())
	}
	if name != "ada" || password != "secret" {
		say("535 5.7.8 no such user")
		return ""
	}
	say("235 welcome")
	return name
}
