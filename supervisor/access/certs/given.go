package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"qb/internal/statedir"
)

// Given is a certificate that the site has made, such as one of its own authority.
type Given struct {
	cert, key string // files
	log       *slog.Logger

	mu     sync.Mutex
	pair   *tls.Certificate
	stamp  string
	looked time.Time
}

// OpenGiven reads a certificate with its chain, and its key.
func OpenGiven(cert, key string, log *slog.Logger) (*Given, error) {
	g := &Given{cert: cert, key: key, log: log}
	g.stamp = g.look()
	pair, err := g.read()
	g.pair = pair
	return g, err
}

func (g *Given) look() string { return stampOf(g.cert) + "\n" + stampOf(g.key) }

func (g *Given) read() (*tls.Certificate, error) {
	pair, err := readPair(g.cert, g.key)
	if err != nil {
		return nil, fmt.Errorf(
			"supervisor_tls_cert = %s, supervisor_tls_key = %s: %w; both must be PEM files of one key pair that this user can read "+
				"(without them qb uses a certificate of its own)", g.cert, g.key, err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, fmt.Errorf("supervisor_tls_cert = %s: %w", g.cert, err)
		}
	}
	if now := time.Now(); now.Before(pair.Leaf.NotBefore) || now.After(pair.Leaf.NotAfter) {
		return nil, fmt.Errorf(
			"supervisor_tls_cert = %s is valid from %s to %s, and the clock of this machine says %s: renew the certificate, or set the clock",
			g.cert, pair.Leaf.NotBefore.UTC().Format(time.DateOnly), pair.Leaf.NotAfter.UTC().Format(time.DateOnly),
			now.UTC().Format(time.DateOnly))
	}
	return &pair, nil
}

// readPair reads the pair as tls.LoadX509KeyPair does; it refuses a pipe, which a handshake would wait for.
func readPair(certFile, keyFile string) (pair tls.Certificate, err error) {
	cert, err := statedir.ReadRegular(certFile)
	if err != nil {
		return pair, err
	}
	key, err := statedir.ReadRegular(keyFile)
	if err != nil {
		return pair, err
	}
	return tls.X509KeyPair(cert, key)
}

// Config is for the listener.
func (g *Given) Config() *tls.Config { return serverConfig(g.certificate) }

// Fingerprint returns "": clients trust the certificate's authority by other means.
func (g *Given) Fingerprint() string { return "" }

// certificate takes files that were replaced; if they cannot be read, the former certificate goes on.
func (g *Given) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.looked) < lookEvery {
		return g.pair, nil
	}
	g.looked = time.Now()
	stamp := g.look()
	if stamp == g.stamp {
		return g.pair, nil
	}
	if pair, err := g.read(); err != nil {
		if g.stamp != "" {
			g.log.Error("the TLS certificate was changed and cannot be used; the supervisor goes on with the former one",
				"error", err)
		}
		g.stamp = "" // read again until it can be used, and logged once
	} else {
		g.pair, g.stamp = pair, stamp
		g.log.Info("TLS certificate changed", "file", g.cert, "until", pair.Leaf.NotAfter.UTC().Format(time.DateOnly))
	}
	return g.pair, nil
}

// Lacks says whether the certificate is not for the name.
func (g *Given) Lacks(name string) bool { return g.pair.Leaf.VerifyHostname(name) != nil }
