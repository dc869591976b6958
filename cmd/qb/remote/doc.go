// Package remote has what packages of commands share: how they reach the farm, and commands of one form, which list the rows of
// an endpoint, or ask for a change and print what became of it.
//
// It must never know what is listed or changed.
package remote
