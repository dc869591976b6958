// Package find looks for the farm that a command is meant for: in the options, the environment, the configuration, what
// qb login saved, and farm.json of a farm on this machine.
//
// It must never send a token to an Address that it is not for. Read Supervisor in find.go first, then findToken.
package find
