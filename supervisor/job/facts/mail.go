package facts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MailFacts is the row of a mail to one recipient that waits to be sent: a job has ended. What it says is of that
// moment; the job may run again meanwhile.
type MailFacts struct {
	ID          int64     `json:"id"` // given by the store; it rises
	Job         JobID     `json:"job"`
	Owner       string    `json:"owner"`
	To          string    `json:"recipient"` // an address; "": that of the owner, by mail_domain
	Name        string    `json:"name"`      // of the job
	State       JobState  `json:"state"`
	Cause       string    `json:"cause"` // of a failed job
	Complete    int       `json:"complete"`
	Failed      int       `json:"failed"`
	Killed      int       `json:"killed"`
	Items       int       `json:"items"`
	SubmittedAt time.Time `json:"submitted_at"`
	EndedAt     time.Time `json:"ended_at"`
	Tries       int       `json:"tries"`
	Due         time.Time `json:"due"` // not to be tried before
}

// Limits of addresses: those of RFC 5321, and of how many a job may name.
const (
	MaxAddress     = 254 // bytes
	maxLocalPart   = 64
	maxDomain      = 253
	maxDomainLabel = 63
	MaxRecipients  = 10
)

// CheckAddress refuses what is no plain mail address, NAME@DOMAIN in ASCII. Quoted names and addresses of hosts by
// number are refused too: no one needs them, and what is left can break no header and no command of SMTP.
func CheckAddress(address string) error {
	at := strings.LastIndexByte(address, '@')
	local, domain := address[:max(at, 0)], address[at+1:]
	switch {
	case local == "" || domain == "":
		return errors.New("write a mail address such as ada@studio.example")
	case len(address) > MaxAddress || len(local) > maxLocalPart:
		return fmt.Errorf("a mail address has at most %d characters, %d of them before the @", MaxAddress, maxLocalPart)
	case strings.Contains("."+local+".", "..") ||
		strings.ContainsFunc(local, func(r rune) bool { return !inLocalPart(r) }):
		return errors.New("the name before the @ may have the letters a-z, digits, single dots and !#$%&'*+-/=?^_`{|}~")
	}
	return CheckDomain(domain)
}

// The values of mail_tls.
const (
	MailStartTLS = "starttls"
	MailTLS      = "tls"
	MailPlain    = "none"
)

// IsLocalHost says whether a host is this machine, by its name.
func IsLocalHost(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// CheckDomain refuses what cannot be the domain of a mail address.
func CheckDomain(domain string) error {
	if len(domain) > maxDomain {
		return fmt.Errorf("a domain has at most %d characters", maxDomain)
	}
	for label := range strings.SplitSeq(domain, ".") {
		if label == "" || len(label) > maxDomainLabel || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.ContainsFunc(label, func(r rune) bool { return r != '-' && !letterOrDigit(r) }) {
			return errors.New("write a domain such as studio.example; one with other letters as xn--…")
		}
	}
	return nil
}

func letterOrDigit(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

func inLocalPart(r rune) bool {
	return letterOrDigit(r) || strings.ContainsRune(".!#$%&'*+-/=?^_`{|}~", r)
}

// checkAddresses refuses a list with something else than addresses.
func checkAddresses(list string) error {
	for _, address := range SplitList(list) {
		if err := CheckAddress(address); err != nil {
			return fmt.Errorf("%.60q: %w", address, err)
		}
	}
	return nil
}

// WantsMail says whether somebody gets a mail when the job has ended.
func (j *JobFacts) WantsMail() bool {
	return len(j.MailAddress) > 0 || slices.Contains(j.Flags, FlagMail)
}
