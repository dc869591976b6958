// Package pin checks the certificate of a supervisor against the public key of its farm's certificate authority (CA),
// of which commands and workers know only the fingerprint: a token carries it behind its secret. A CA that a known
// one has signed is accepted, so that a farm can change its CA while workers run.
//
// The name in the certificate is not compared: a farm's CA signs certificates of its supervisors alone.
//
// The package must never accept a certificate that no pinned CA has signed, nor print a token.
//
// Read first: pin.go.
package pin
