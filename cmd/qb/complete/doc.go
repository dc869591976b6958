// Package complete answers a shell that completes a command line: ids, hosts, groups, users and the like from the live
// farm, and the scripts that connect bash, zsh and fish to it.
//
// A completion must never disturb the line that is being typed: it takes at most Within, prints no error, and offers
// nothing if no farm answers. Words of the farm come from its users, and bash inserts them as they are; those that a
// shell would read as more than one plain word are not offered.
//
//	shell ──script──▶ qb __complete WORD… ──▶ lines: WORD, a tab, what it is
//
// A line that begins with a tab asks the shell for words of its own: files, folders or commands.
//
// Read first: values.go, then script.bash.
package complete
