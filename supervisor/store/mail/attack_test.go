package mail

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/smtp"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"qb/supervisor/job/facts"
)

// hostile is a mail server that does one thing with each connection.
func hostile(t *testing.T, talk func(conn net.Conn)) Settings {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
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
				talk(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait() // each connection was given up by the client, or this hangs
	})
	return Settings{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, TLS: facts.MailPlain, From: "qb@studio.example"}
}

// after answers so many commands as a server does, and then does something else.
func after(commands int, then func(conn net.Conn)) func(net.Conn) {
	return func(conn net.Conn) {
		fmt.Fprint(conn, "220 ready\r\n")
		heard := make([]byte, 4096)
		for n := range commands {
			if _, err := conn.Read(heard); err != nil {
				return
			}
			fmt.Fprint(conn, []string{"250 here\r\n", "250 fine\r\n", "250 fine\r\n", "354 go on\r\n"}[n])
		}
		then(conn)
	}
}

func silent(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

func again(what string, pause time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		for {
			if _, err := io.WriteString(conn, what); err != nil {
				return
			}
			time.Sleep(pause)
		}
	}
}

// TestAttackMailServer: a mail server that says nothing, too much or nonsense, at any step, costs one mail a bounded
// time and memory, and its words are shortened and made plain.
func TestAttackMailServer(t *testing.T) {
	const patience = 500 * time.Millisecond // in place of sessionWithin
	long := strings.Repeat("\x1b]0;x\a", 20_000)
	for what, talk := range map[string]func(net.Conn){
		"silent": silent, "silent after EHLO": after(0, silent), "silent after MAIL": after(1, silent),
		"silent after RCPT": after(2, silent),
		"silent after DATA": after(3, silent), "silent after the mail": after(4, silent),
		"banner by drips": again("2", 20*time.Millisecond), "answer by drips": after(1, again("2", 20*time.Millisecond)),
		"lines by drips": again("220-x\r\n", 20*time.Millisecond),
		"endless banner": again("220-"+strings.Repeat("x", 1000)+"\r\n", 0),
		"endless line":   again(strings.Repeat("2", 4096), 0), "endless answer": after(2, again("250-x\r\n", 0)),
		"no SMTP":         again("HTTP/1.1 200 OK\r\n\r\n", 0),
		"long banner":     func(conn net.Conn) { fmt.Fprint(conn, long+"\r\n"); silent(conn) },
		"long refusal":    func(conn net.Conn) { fmt.Fprint(conn, "554 "+long+"\r\n"); silent(conn) },
		"long code":       after(1, func(conn net.Conn) { fmt.Fprint(conn, "25x"+long+"\r\n"); silent(conn) }),
		"long answer":     after(2, func(conn net.Conn) { fmt.Fprint(conn, "550 "+long+"\r\n"); silent(conn) }),
		"code of nothing": after(1, func(conn net.Conn) { fmt.Fprint(conn, "000 \x00\r\n"); silent(conn) }),
		"gone":            func(net.Conn) {}, "gone after DATA": after(4, func(net.Conn) {}),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			set := hostile(t, talk)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			began := time.Now()
			answer, err := set.send(ctx, "ada@studio.example", []byte("Subject: x\r\n\r\ny\r\n"))
			if err == nil {
				t.Fatalf("the mail counts as sent: %q", answer)
			}
			if took := time.Since(began); took > 20*patience {
				t.Errorf("it took %s", took)
			}
			if said := err.Error(); len(said) > 2*maxAnswer || strings.ContainsFunc(said, unicode.IsControl) {
				t.Errorf("%d bytes are passed on: %.200q", len(said), said)
			}
		})
	}
}

// TestAttackStartTLS: who sits between the supervisor and the mail server gets neither a password nor a mail by leaving
// encryption out, and what is said before it does not count after it.
func TestAttackStartTLS(t *testing.T) {
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	heard := ""
	listen := func(conn net.Conn) string {
		text := make([]byte, 4096)
		n, _ := conn.Read(text)
		mu.Lock()
		defer mu.Unlock()
		heard += string(text[:n])
		return string(text[:n])
	}
	https := startServer(t, nil)
	for what, offers := range map[string]string{
		"not offered":    "250-here\r\n250 AUTH PLAIN LOGIN\r\n",
		"refused":        "250-here\r\n250-AUTH PLAIN LOGIN\r\n250 STARTTLS\r\n",
		"plain after it": "250-here\r\n250 STARTTLS\r\n",
		"said before it": "250-here\r\n250 STARTTLS\r\n",
	} {
		set := hostile(t, func(conn net.Conn) {
			fmt.Fprint(conn, "220 ready\r\n")
			for line := listen(conn); line != ""; line = listen(conn) {
				switch {
				case strings.HasPrefix(line, "EHLO"):
					fmt.Fprint(conn, offers)
				case what == "refused":
					fmt.Fprint(conn, "454 not now\r\n")
				case what == "said before it" && strings.HasPrefix(line, "STARTTLS"):
					fmt.Fprint(
						conn,
						"220 go on\r\n250-here\r\n250 AUTH PLAIN LOGIN\r\n235 welcome\r\n250 fine\r\n250 fine\r\n354 go on\r\n250 taken\r\n")
					secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{https.cert}})
					_, _ = io.Copy(io.Discard, secure) // it answers nothing
					return
				default:
					fmt.Fprint(conn, "220 go on\r\n250 fine\r\n")
				}
			}
		})
		set.TLS, set.User, set.PasswordFile = facts.MailStartTLS, "ada", password
		trust(t, https)(&set)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if answer, err := set.send(ctx, "ada@studio.example", []byte("a secret")); err == nil {
			t.Errorf("%s: the mail counts as sent: %s", what, answer)
		}
		cancel()
	}
	mu.Lock()
	defer mu.Unlock()
	for _, secret := range []string{"AUTH", "hunter2", "aHVudGVyMg", "MAIL", "a secret"} {
		if strings.Contains(heard, secret) {
			t.Errorf("%q is heard without encryption: %q", secret, heard)
		}
	}
	for _, login := range []smtp.Auth{login("PLAIN", "ada", "hunter2", "mail.example"),
		login("LOGIN", "ada", "hunter2", "mail.example"), login("", "ada", "hunter2", "mail.example")} {
		if _, first, err := login.Start(&smtp.ServerInfo{Name: "mail.example",
			Auth: []string{"PLAIN", "LOGIN"}}); err == nil {
			t.Errorf("a password for another machine goes unencrypted: %q", first)
		}
	}
}
