// Package watch shows the farm live: `qb watch`, on a whole terminal or as plain lines.
//
// On a terminal a model in the manner of Elm (package bubbletea) gets messages, which are keys, sizes of the window and
// answers of the farm, and draws the screen again from its state. Update starts calls as commands and never waits for
// one; View calls nothing. A screen has exactly as many lines as the window, and no line is wider than it, so that
// nothing ever wraps. Elsewhere a line is printed whenever a job or a host has changed.
//
// What users wrote, such as names and reasons, passes output.Escape, and the output of an item passes a
// output.TerminalFilter. Only two keys change the farm: K kills and R retries, each after the answer y to a question.
//
//	source ──Look──▶ model ◀──keys, sizes── terminal
//	                   │ pages: job, items, log, host, help
//	                   ▼
//	                 View ──▶ renderer of bubbletea ──▶ terminal
//
// Read first: model.go (messages and state), overview.go (jobs and hosts), table.go (which columns have room),
// source.go (what is asked of the farm). The dialogues in testdata show keys and the screens that follow.
package watch
