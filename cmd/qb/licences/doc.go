// Package licences has the commands about resources of the whole farm, such as licences: who uses how many, and the report of what is
// used outside of the farm.
//
// It must never count anything: it shows what the supervisor reports.
//
// Read resources.go.
package licences
