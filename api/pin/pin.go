package pin

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Length is the length of a fingerprint: SHA-256 in base64url.
const Length = 43

// mostCertificates of a supervisor are looked at; a CA that was changed several times in a short while shows more than
// three.
const mostCertificates = 12

// Of is the fingerprint of a certificate's public key.
func Of(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Cut takes a token apart: the part that is sent, and the fingerprint of the farm's CA behind a dot, which may be
// absent.
func Cut(token string) (secret, fingerprint string) {
	secret, fingerprint, _ = strings.Cut(token, ".")
	return secret, fingerprint
}

// Join is a token that carries the fingerprint of the farm's CA; "" is none.
func Join(secret, fingerprint string) string {
	if fingerprint == "" {
		return secret
	}
	return secret + "." + fingerprint
}

// Check refuses a text that is no fingerprint.
func Check(fingerprint string) error {
	if sum, err := base64.RawURLEncoding.DecodeString(fingerprint); err != nil || len(sum) != sha256.Size {
		return errors.New("the fingerprint of the farm's CA, which is behind the dot in a token, does not have 43 characters; copy the whole token or fingerprint again")
	}
	return nil
}

// Error says that the other end is not the supervisor, or that this cannot be known; nothing was sent to it.
type Error struct{ Text string }

// Error makes it an error.
func (e *Error) Error() string { return e.Text }

// Set holds the fingerprints of the CAs that are trusted.
type Set struct {
	mu      sync.Mutex
	pins    []string
	changed func([]string) // called when a supervisor's certificate has shown others; may be nil
}

// NewSet trusts the CAs of these fingerprints.
func NewSet(pins []string, changed func([]string)) *Set {
	return &Set{pins: slices.Clone(pins), changed: changed}
}

// Pins are the fingerprints that are trusted now.
func (s *Set) Pins() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.pins)
}

// Config is for connections to supervisors of the farm.
func (s *Set) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection does it, for resumed sessions too
		VerifyConnection: func(state tls.ConnectionState) error {
			return s.verify(state.PeerCertificates, time.Now())
		},
	}
}

// verify accepts a chain that ends at a pinned CA. What is trusted from then on are the CAs in such chains: a new one
// that a known one has signed is learned, and a former one is dropped as soon as the supervisor no longer shows it.
func (s *Set) verify(shown []*x509.Certificate, now time.Time) error {
	if len(shown) == 0 || len(shown) > mostCertificates {
		return &Error{Text: fmt.Sprintf("the other end shows %d certificates; a supervisor shows 1 to %d", len(shown),
			mostCertificates)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	roots, all := x509.NewCertPool(), x509.NewCertPool()
	pinned := false
	for _, c := range shown[1:] {
		all.AddCert(c)
		if c.IsCA && slices.Contains(s.pins, Of(c)) {
			roots.AddCert(c)
			pinned = true
		}
	}
	if !pinned {
		return &Error{Text: fmt.Sprintf("the supervisor's certificate is of another authority (fingerprint %s) than the one that the token or the worker's state folder names (%s): "+
			"another farm answers there, or the farm has a new authority; ask the farm's administrator for a new token",
			Of(shown[len(shown)-1]), strings.Join(s.pins, ", "))}
	}
	chains, err := shown[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: all, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if err != nil {
		return &Error{Text: Explain(err, now)}
	}
	var seen []string
	for _, chain := range chains {
		for _, c := range chain[1:] {
			seen = append(seen, Of(c))
		}
	}
	slices.Sort(seen)
	seen = slices.Compact(seen)
	if !slices.Equal(seen, s.pins) {
		s.pins = seen
		if s.changed != nil {
			s.changed(slices.Clone(seen))
		}
	}
	return nil
}

// Explain says of a certificate that was refused what to do about it; "" if the error is of another kind.
func Explain(err error, now time.Time) string {
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		const form = time.DateOnly + " 15:04"
		return fmt.Sprintf("the supervisor's certificate is valid from %s to %s UTC, and the clock of this machine says %s: set the clock here, or at the supervisor if that one is wrong",
			invalid.Cert.NotBefore.UTC().Format(form), invalid.Cert.NotAfter.UTC().Format(form), now.UTC().Format(form))
	case errors.As(err, &name):
		return fmt.Sprintf("the supervisor's certificate is not for the name %s: use a name that is in the certificate, or give the supervisor a certificate for this one (supervisor_tls_cert)", name.Host)
	case errors.As(err, &unknown):
		return "the supervisor's certificate is of an authority that this machine does not trust: use a token with the farm's fingerprint, as qbadmin token create prints it, " +
			"qb login -fingerprint, or name the authority's file in the variable SSL_CERT_FILE"
	case errors.As(err, &invalid):
		return "the supervisor's certificate is not valid: " + err.Error()
	}
	return ""
}
