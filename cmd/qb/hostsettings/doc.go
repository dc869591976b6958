// Package hostsettings has the commands about settings of workers in the supervisor's file: what holds on a host and where it comes
// from, and the order to take the file anew.
//
// It must never decide where a value comes from: it shows what the supervisor reports.
//
// Read hostsettings.go.
package hostsettings
