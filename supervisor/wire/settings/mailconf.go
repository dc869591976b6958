package settings

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"qb/supervisor/job/facts"
)

// Mail is the mail server's part.
func (c Config) MailSender() string {
	return cmp.Or(c.MailFrom, "qb@"+cmp.Or(c.MailDomain, hostDomain()))
}

// hostDomain is this machine's name, as far as it can be a domain.
func hostDomain() string {
	if name, err := os.Hostname(); err == nil && facts.CheckDomain(name) == nil {
		return name
	}
	return "localhost"
}

func (c Config) checkMail(check func(ok bool, key string, value any, wayOut string)) {
	check(!strings.ContainsFunc(c.MailHost, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '/' || r == '@'
	}), "mail_host", fmt.Sprintf("%q", c.MailHost),
		"write a host name such as mail.studio.example, with its port in mail_port")
	check(c.MailPort >= 1 && c.MailPort <= 65535, "mail_port", c.MailPort, "use 1 to 65535")
	if c.MailDomain != "" {
		err := facts.CheckDomain(c.MailDomain)
		check(err == nil, "mail_domain", fmt.Sprintf("%q", c.MailDomain), fmt.Sprint(err))
	}
	if c.MailFrom != "" {
		err := facts.CheckAddress(c.MailFrom)
		check(err == nil, "mail_from", fmt.Sprintf("%q", c.MailFrom), fmt.Sprint(err))
	}
	check((c.MailUser == "") == (c.MailPasswordFile == ""), "mail_password_file", fmt.Sprintf("%q", c.MailPasswordFile),
		"set mail_user and mail_password_file, or neither")
	check(c.MailUser == "" || c.MailTLS != facts.MailPlain ||
		facts.IsLocalHost(c.MailHost), "mail_tls", fmt.Sprintf("%q", c.MailTLS),
		"use starttls or tls: without encryption mail_user's password could be read on the way")
}
