// Package jobtext has what commands say about jobs besides their columns: which jobs the table of qbjobs leaves out, and
// that there is none.
//
// Begin with jobtext.go. The package only makes text: it must never print, and asks no supervisor.
package jobtext
