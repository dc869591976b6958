// Package jobtext has what commands say about jobs besides their columns: which jobs the table of qbjobs leaves out, that
// there is none, and why an action did not affect a job.
//
// Begin with jobtext.go. The package only makes text: it must never print, and asks no supervisor.
package jobtext
