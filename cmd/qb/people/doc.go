// Package people has the commands about users: qbadmin user, for admins.
//
// It reads options, calls endpoints and prints. It must never decide who may do what: that is the supervisor's word.
package people
