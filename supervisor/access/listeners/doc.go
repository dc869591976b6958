// Package listeners opens the addresses on which a supervisor answers: a TCP address, by TLS wherever another machine
// can reach it, and the unix socket. It bounds connections and unfinished TLS handshakes, and says by which names the
// supervisor may be called.
//
// The package must never open an address beyond loopback without TLS.
//
// Read first: open.go.
package listeners
