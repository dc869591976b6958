// Package osusers looks up users of the supervisor's machine, for remarks on jobs that no worker could run as their
// owner. It decides nothing: each worker looks the owner up itself when it starts an item.
package osusers
