// Package storetest has Memory, the store for simulations: it refuses the writes that Postgres refuses, loses
// everything when the process ends, and can be full as Postgres can. It has only the reads that a simulated farm needs;
// other reads are tested on Postgres.
//
// It must never be used by a program that people run, and never accept or answer what package postgres would not: the
// tests of that package compare the two.
//
// Read first: memory.go (terms and reads), apply.go (each write).
package storetest
