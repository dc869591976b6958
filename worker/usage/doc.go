// Package usage runs the site's command that says how many licences are used outside of the farm, again and again, as an account that
// the worker's own configuration names.
//
// It must never run the command as root, run two at a time, or believe more than MostLines of what it prints.
//
// Read usage.go.
package usage
