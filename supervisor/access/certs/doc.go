// Package certs holds the TLS certificate of a supervisor: one of the farm's own certificate authority (CA), which the
// first start makes in the state folder, or a given one.
//
// The folder tls of the state folder, mode 0700, has three files, mode 0600:
//
//	ca.pem      certificate and key of the CA, and for a while the certificates by which a former CA vouches for it
//	ca.crt      the CA's certificate alone, for other programs
//	server.pem  certificate and key of this supervisor; made again whenever it is missing, old or of another CA
//
// A file is replaced as a whole, and is on the disk before its certificate is used. A running supervisor renews its
// certificate at half of its life, and notices a CA or a given certificate that was replaced, without a restart.
//
// The package must never print or log a key, use a key that others can read, or sign anything but supervisors and the
// next CA.
//
// Read first: own.go, authority.go.
package certs
