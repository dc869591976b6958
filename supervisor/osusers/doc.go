// Package osusers looks up users of the supervisor's machine and their groups, for remarks on jobs that no worker could run
// as their owner, and for accounts that list groups. A look that hangs holds up nobody for long. Each worker looks the owner
// up itself when it starts an item.
package osusers
