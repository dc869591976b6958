// Package qube answers users who type what they know from Qube!: for each command and option of Qube's that qb has
// not, what to type instead, or that qb has no such thing and why.
//
// It also says what qb does about each setting of Qube's qb.conf.
//
// All answers are in from-qube.tsv and settings.tsv. The package must never guess: what is not in the table has no
// answer.
package qube
