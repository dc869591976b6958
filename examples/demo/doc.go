// Command demo renders two animations on a farm of this machine alone and shows how it shares its slots.
//
// It starts `qb farm` with a private Postgres in a temporary folder and two workers of four slots, submits
// jobs with the same commands that a user types, draws a table until they are done, checks every picture
// and every attempt, and stops the farm. It knows qb only through its programs and package api, as any
// other client does.
//
//	beauty     48 frames, 2 primaries, as wide as the farm allows; one frame fails at first, by design
//	turntable  24 frames, 2 primaries; comes some seconds later, and beauty gives way
//	movie      waits for beauty and joins its frames
//
// It must never leave a process behind, whether it ends well, badly or by Ctrl-C.
//
// Read main.go for the story, table.go for what is drawn and verify.go for what is checked.
package main
