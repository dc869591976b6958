// Package commandline reads command lines as Qube's users write them (-cpus 10, --prio 3), describes commands, and
// refuses what they do not take.
//
// It must never know what a command does. Read args.go first.
package commandline
