// Package storetest has Memory, the store for simulations: it refuses to write what Postgres refuses, forgets when the process
// ends, and can be full as Postgres can. It has no reads but those that a simulated farm needs: what reads the rows otherwise
// is tested on Postgres.
//
// It must never be used by a program that people run, and never accept or answer what package postgres would not: the
// tests of that package compare the two.
//
// Read first: memory.go (terms and reads), apply.go (each write).
package storetest
