// Package people has the commands about users: qbadmin user and qbusers for admins, qb login and qb logout for people on other machines,
// and the file that a login leaves.
//
// It must never decide who may do what: that is the supervisor's word. It must never print the token of a login, nor send it
// to another address than the one that it was made for.
package people
