package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
)

// maild is a mail server for scripts: maild PORT MAILS writes its port into one file and what it gets into the other, each mail
// behind the lines of its recipient. It refuses recipients that begin with gone, for good, and with busy, for now.
func maild() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = os.WriteFile(os.Args[1], fmt.Appendln(nil, l.Addr().(*net.TCPAddr).Port), 0o644)
	}
	for err == nil {
		var conn net.Conn
		if conn, err = l.Accept(); err == nil {
			err = receive(conn, os.Args[2])
		}
	}
	fmt.Fprintln(os.Stderr, "maild:", err)
	os.Exit(1)
}

// receive holds one session; it fails only if it cannot write.
func receive(conn net.Conn, file string) error {
	defer conn.Close()
	in := bufio.NewScanner(conn)
	fmt.Fprint(conn, "220 maild\r\n")
	var mail strings.Builder
	for data := false; in.Scan(); {
		line, answer := in.Text(), "250 fine"
		switch {
		case data && line != ".":
			fmt.Fprintln(&mail, line)
			continue
		case data:
			data, answer = false, "250 taken"
			f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			if _, err := f.WriteString(mail.String()); err != nil {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
		case line == "DATA":
			data, answer = true, "354 go on"
		case strings.HasPrefix(line, "RCPT TO:<gone"):
			answer = "550 no such user"
		case strings.HasPrefix(line, "RCPT TO:<busy"):
			answer = "451 come back"
		case strings.HasPrefix(line, "RCPT"):
			fmt.Fprintln(&mail, line)
		case line == "QUIT":
			answer = "221 bye"
		}
		fmt.Fprint(conn, answer+"\r\n")
	}
	return nil
}
