package certs

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"qb/api/pin"
	"qb/internal/statedir"
)

// lookEvery is how often files are looked at for others.
const lookEvery = 10 * time.Second

// Own is the certificate of a supervisor by the farm's own CA.
type Own struct {
	dir   string
	names []string
	log   *slog.Logger
	now   func() time.Time

	mu     sync.Mutex
	ca     *authority
	stamp  string // of ca.pem, as it was read
	leaf   *tls.Certificate
	looked time.Time
}

// OpenOwn reads the CA of the state folder, or makes one, and a certificate for these names and addresses.
func OpenOwn(state string, names []string, log *slog.Logger) (*Own, error) {
	o := &Own{dir: folderOf(state), names: names, log: log, now: time.Now}
	return o, o.open()
}

func folderOf(state string) string { return filepath.Join(state, "tls") }

func (o *Own) open() error {
	if err := statedir.Make(o.dir, 0o700); err != nil {
		return err
	}
	unlock, err := lockFolder(o.dir)
	if err != nil {
		return err
	}
	defer unlock()
	if err := o.readCA(); errors.Is(err, fs.ErrNotExist) {
		if err := o.makeCA(); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if err := o.current(); err != nil {
		return err
	}
	if leaf := o.readLeaf(); leaf != nil && o.serves(leaf) {
		o.leaf = leaf
		return nil
	}
	return o.renew()
}

// makeCA writes what other programs need last: where it is, the CA is too.
func (o *Own) makeCA() error {
	ca, err := newAuthority(o.now())
	if err != nil {
		return err
	}
	if err := writeCA(o.dir, ca); err != nil {
		return err
	}
	o.log.Info("farm CA created; copy the folder to every other supervisor of this farm before its first start",
		"folder", o.dir, "fingerprint", ca.fingerprint())
	return o.readCA()
}

func writeCA(dir string, ca *authority) error {
	text, err := ca.text()
	if err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(dir, "ca.pem"), text); err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, "ca.crt"), caText(ca))
}

func caText(ca *authority) []byte {
	var public bytes.Buffer
	writeBlock(&public, certBlock, ca.cert.Raw)
	return public.Bytes()
}

func (o *Own) readCA() error {
	name := filepath.Join(o.dir, "ca.pem")
	text, stamp, err := readPrivate(name)
	if err != nil {
		return fmt.Errorf("reading the farm's CA: %w", err)
	}
	ca, err := parseAuthority(text)
	if err != nil {
		return fmt.Errorf("reading the farm's CA %s: %w; copy the file from another supervisor of the farm or from a backup "+
			"(if there is none, remove the folder %s: the next start makes another CA, and all tokens for the network and all joined workers need new ones)",
			name, err, o.dir)
	}
	o.ca, o.stamp = ca, stamp
	return nil
}

// current refuses a CA whose time has not begun or is over.
func (o *Own) current() error {
	if c, now := o.ca.cert, o.now(); now.Before(c.NotBefore) || now.After(c.NotAfter) {
		return fmt.Errorf(
			"the farm's CA in %s is valid from %s to %s, and the clock of this machine says %s: set the clock, or make another CA with qb ca rotate",
			o.dir, c.NotBefore.UTC().Format(time.DateOnly), c.NotAfter.UTC().Format(time.DateOnly),
			now.UTC().Format(time.DateOnly))
	}
	return nil
}

// readLeaf is the certificate of server.pem, nil if it cannot be used: it is made again then.
func (o *Own) readLeaf() *tls.Certificate {
	text, _, err := readPrivate(filepath.Join(o.dir, "server.pem"))
	if err != nil {
		return nil
	}
	certs, key, err := readPEM(text)
	if err != nil {
		return nil
	}
	return o.shown(certs[0], key)
}

// shown returns a certificate with its chain: the CA, and the certificates that link it to former CAs.
func (o *Own) shown(leaf *x509.Certificate, key any) *tls.Certificate {
	chain := [][]byte{leaf.Raw, o.ca.cert.Raw}
	for _, c := range o.ca.stillVouching(o.now()) {
		chain = append(chain, c.Raw)
	}
	return &tls.Certificate{Certificate: chain, PrivateKey: key, Leaf: leaf}
}

// serves says whether a certificate is of the CA, for all names, and has half of its life before it.
func (o *Own) serves(c *tls.Certificate) bool {
	now, leaf := o.now(), c.Leaf
	half := leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) / 2)
	if now.Before(leaf.NotBefore) || now.After(half) || leaf.CheckSignatureFrom(o.ca.cert) != nil {
		return false
	}
	return !slices.ContainsFunc(o.names, func(name string) bool { return leaf.VerifyHostname(name) != nil })
}

// renew makes a certificate. If it cannot be written it is used anyway: at the next start there is another one.
func (o *Own) renew() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the supervisor's TLS key: %w", err)
	}
	now := o.now()
	until := now.Add(serverLife)
	if until.After(o.ca.cert.NotAfter) {
		until = o.ca.cert.NotAfter
	}
	template := &x509.Certificate{
		SerialNumber: newSerial(), Subject: pkix.Name{CommonName: "qb supervisor"}, NotBefore: now.Add(-backdated),
		NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, name := range o.names {
		if ip, err := netip.ParseAddr(name); err == nil {
			template.IPAddresses = append(template.IPAddresses, ip.WithZone("").AsSlice())
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	leaf, err := signed(template, o.ca.cert, key.Public(), o.ca.key)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("writing the supervisor's TLS key: %w", err)
	}
	var text bytes.Buffer
	writeBlock(&text, certBlock, leaf.Raw)
	writeBlock(&text, certBlock, o.ca.cert.Raw)
	writeBlock(&text, keyBlock, der)
	if err := replaceFile(filepath.Join(o.dir, "server.pem"), text.Bytes()); err != nil {
		o.log.Error("cannot save the supervisor's TLS certificate; it is used, and the next start makes another",
			"error", err)
	}
	o.leaf = o.shown(leaf, key)
	o.log.Info("TLS certificate made", "names", o.names, "until", until.UTC().Format(time.DateOnly))
	return nil
}

// Config is for the listener.
func (o *Own) Config() *tls.Config { return serverConfig(o.certificate) }

// Fingerprint is the fingerprint of the CA in force. Tokens carry it.
func (o *Own) Fingerprint() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ca.fingerprint()
}

// certificate is asked at each handshake.
func (o *Own) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.now(); now.Sub(o.looked).Abs() > lookEvery {
		o.looked = now
		o.refresh()
	}
	return o.leaf, nil
}

// refresh takes a CA that was rotated, drops former ones whose time is over, and renews the certificate. What fails
// leaves the certificate as it is.
func (o *Own) refresh() {
	if now := stampOf(filepath.Join(o.dir, "ca.pem")); now != o.stamp {
		if err := o.readCA(); err != nil {
			o.stamp = now // logged once
			o.log.Error("the farm's CA was changed and cannot be used; the supervisor goes on with the former one", "error", err)
		} else {
			o.log.Info("farm CA changed", "fingerprint", o.ca.fingerprint())
		}
	}
	if !o.serves(o.leaf) {
		if err := errors.Join(o.current(), o.renew()); err != nil {
			o.log.Error("cannot renew the supervisor's TLS certificate; will retry", "error", err)
		}
		return
	}
	if shows := 2 + len(o.ca.stillVouching(o.now())); shows != len(o.leaf.Certificate) {
		o.leaf = o.shown(o.leaf.Leaf, o.leaf.PrivateKey)
	}
}

// Rotate makes another CA in the state folder, which the former one vouches for during the overlap. A running
// supervisor takes it by itself. It returns the new fingerprint.
func Rotate(state string, overlap time.Duration) (string, error) {
	o := &Own{dir: folderOf(state), log: slog.New(slog.DiscardHandler), now: time.Now}
	unlock, err := lockFolder(o.dir)
	if err != nil {
		return "", missingCA(err, state)
	}
	defer unlock()
	if err := o.readCA(); err != nil {
		return "", missingCA(err, state)
	}
	next, err := o.ca.successor(o.now(), overlap)
	if err != nil {
		return "", err
	}
	return next.fingerprint(), writeCA(o.dir, next)
}

// Facts are the public facts of a CA.
type Facts struct {
	Fingerprint string
	Until       time.Time
	Former      map[string]time.Time // fingerprints of former CAs, and until when they count
	PEM         []byte               // its certificate
}

// Look reads the CA of a state folder.
func Look(state string) (Facts, error) {
	o := &Own{dir: folderOf(state), log: slog.New(slog.DiscardHandler), now: time.Now}
	if err := o.readCA(); err != nil {
		return Facts{}, missingCA(err, state)
	}
	f := Facts{Fingerprint: o.ca.fingerprint(), Until: o.ca.cert.NotAfter, Former: map[string]time.Time{},
		PEM: caText(o.ca)}
	until := o.ca.cert.NotAfter
	pairs := o.ca.stillVouching(o.now())
	for n := 0; n+1 < len(pairs); n += 2 {
		if pairs[n].NotAfter.Before(until) {
			until = pairs[n].NotAfter
		}
		f.Former[pin.Of(pairs[n+1])] = until
	}
	return f, nil
}

func missingCA(err error, state string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf(
			"%s has no CA: the first start of qb farm or qb supervisor makes one there; name the supervisor's folder with -state",
			cmp.Or(state, os.Getenv("QB_STATE")))
	}
	return err
}
