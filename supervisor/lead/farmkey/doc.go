// Package farmkey holds the secret that makes a farm one farm. It is a file outside of the database, shared by all
// supervisors of the farm: an attacker who can read a dump, or log in to the database, cannot make a term that workers
// obey, nor a token that the supervisor accepts.
//
// The file holds 32 random bytes. Two keys are derived from them with HKDF: an Ed25519 key, which signs terms, and a
// key for HMAC-SHA256, which protects the rows of table token. The fingerprint of the public key is the farm's id.
//
// The package must never print or log the secret, follow a symbolic link to it, or read it from a file that others can
// read.
//
// Read first: key.go, file.go.
package farmkey
