// Package qube answers those who type what they know from Qube!: for each command and option of Qube's that qb has not,
// what to type instead, or that qb has no such thing and why.
//
// All answers are in from-qube.tsv. The package must never guess: what is not in the table has no answer.
package qube
