// Package storetest has Memory, the store for tests and simulations: it refuses what Postgres refuses, forgets when the
// process ends, and can be told to fail as Postgres may.
//
// It must never be used by a program that people run, and never accept or answer what package postgres would not: the
// tests of that package compare the two.
//
// Read first: memory.go (terms and faults), apply.go (each write).
package storetest
