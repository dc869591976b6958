// Package osusers looks up users of the supervisor's machine and their groups, for remarks on jobs that no worker could
// run as their owner, and for accounts that list groups. Lookups have a time limit. Each worker looks up the owner
// itself when it starts an item.
package osusers
