package certs

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	"qb/api/pin"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	serverLife    = 30 * 24 * time.Hour
	backdated     = time.Hour // for machines whose clock is a little behind
	mostFormer    = 5         // CAs whose successors are still shown
)

// authority is the CA of a farm.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	// former vouch for the CA and its predecessors: pairs of a certificate for the successor's key, signed by a former
	// CA, and that one's own. The first of a pair ends when the former CA is no longer to be trusted.
	former []*x509.Certificate
}

func newAuthority(now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of the farm's CA: %w", err)
	}
	serial := newSerial()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: fmt.Sprintf("qb farm CA %x", serial.Bytes()[:4])},
		NotBefore: now.Add(-backdated), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	cert, err := signed(template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key}, nil
}

func newSerial() *big.Int {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	random[0] = random[0]&0x7f | 0x40
	return new(big.Int).SetBytes(random)
}

func signed(template, parent *x509.Certificate, public crypto.PublicKey, by crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, by)
	if err != nil {
		return nil, fmt.Errorf("signing a certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

// successor is a new CA for which this one vouches for a while.
func (a *authority) successor(now time.Time, overlap time.Duration) (*authority, error) {
	next, err := newAuthority(now)
	if err != nil || overlap <= 0 {
		return next, err
	}
	template := *next.cert
	template.SerialNumber, template.NotAfter = newSerial(), now.Add(overlap)
	vouching, err := signed(&template, a.cert, next.key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	next.former = append([]*x509.Certificate{vouching, a.cert}, a.stillVouching(now)...)
	next.former = next.former[:min(len(next.former), 2*mostFormer)]
	return next, nil
}

// stillVouching are the pairs up to the first that has ended: those behind it lead nowhere.
func (a *authority) stillVouching(now time.Time) []*x509.Certificate {
	for n := 0; n+1 < len(a.former); n += 2 {
		if now.After(a.former[n].NotAfter) {
			return a.former[:n]
		}
	}
	return a.former
}

// text is the content of ca.pem.
func (a *authority) text() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		return nil, fmt.Errorf("writing the key of the farm's CA: %w", err)
	}
	var b bytes.Buffer
	writeBlock(&b, certBlock, a.cert.Raw)
	writeBlock(&b, keyBlock, der)
	for _, c := range a.former {
		writeBlock(&b, certBlock, c.Raw)
	}
	return b.Bytes(), nil
}

const (
	certBlock = "CERTIFICATE"
	keyBlock  = "PRIVATE KEY" // PKCS #8
)

func writeBlock(b *bytes.Buffer, kind string, der []byte) {
	_ = pem.Encode(b, &pem.Block{Type: kind, Bytes: der}) // a buffer takes everything
}

// readPEM reads certificates and a key.
func readPEM(text []byte) (certs []*x509.Certificate, key crypto.Signer, err error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case certBlock:
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, nil, err
			}
			certs = append(certs, c)
		case keyBlock:
			parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				return nil, nil, err
			}
			private, ok := parsed.(*ecdsa.PrivateKey)
			if !ok {
				return nil, nil, fmt.Errorf("the file's key is a %T, not one of ECDSA", parsed)
			}
			key = private
		}
	}
	if len(certs) == 0 || key == nil {
		return nil, nil, errors.New("the file lacks a certificate or a key")
	}
	if public, ok := certs[0].PublicKey.(*ecdsa.PublicKey); !ok || !public.Equal(key.Public()) {
		return nil, nil, errors.New("the file's key is not that of its first certificate")
	}
	return certs, key, nil
}

func parseAuthority(text []byte) (*authority, error) {
	certs, key, err := readPEM(text)
	if err != nil {
		return nil, err
	}
	if !certs[0].IsCA || len(certs)%2 == 0 {
		return nil, errors.New("the file's certificates are not of a CA")
	}
	return &authority{cert: certs[0], key: key, former: certs[1:]}, nil
}

func (a *authority) fingerprint() string { return pin.Of(a.cert) }
