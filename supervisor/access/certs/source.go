package certs

import "crypto/tls"

// Source is where a supervisor has its certificate from.
type Source interface {
	Config() *tls.Config
	Fingerprint() string // of the farm's CA, for tokens; "" if clients trust the certificate by other means
}

// serverConfig has Go's defaults for versions and ciphers: TLS 1.3, or 1.2 for clients that have no more. HTTP/1.1
// alone is spoken, as on the socket, so that the same limits hold.
func serverConfig(get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get, NextProtos: []string{"http/1.1"}}
}
