package agents

import (
	"slices"

	"qb/supervisor/facts"
)

// Registry is the order in which agents first spoke in this term, and the last words of those whose hosts were removed.
type Registry struct {
	maxHosts int                       // names of which incarnations are remembered
	seen     map[facts.HostID][]string // incarnations of each host's agent, by their first word
	removed  []Word
}

// NewRegistry returns a registry of the agents of so many hosts.
func NewRegistry(maxHosts int) Registry {
	return Registry{maxHosts: maxHosts, seen: map[facts.HostID][]string{}}
}

// The limits of a registry. Each message that is older than these words is read within seconds.
const (
	maxSeen    = 64 // of one host
	maxRemoved = 1000
)

// Note notes that an agent has spoken.
func (r *Registry) Note(id facts.HostID, incarnation string) {
	seen := r.seen[id]
	if slices.Contains(seen, incarnation) || (seen == nil && len(r.seen) >= r.maxHosts) {
		return
	}
	seen = append(seen, incarnation)
	r.seen[id] = seen[max(0, len(seen)-maxSeen):]
}

// Before says whether an incarnation spoke first, and another after it.
func (r *Registry) Before(id facts.HostID, incarnation, other string) bool {
	seen := r.seen[id]
	at := slices.Index(seen, incarnation)
	return at >= 0 && at < slices.Index(seen, other)
}

// Forget lets an incarnation speak for the first time again.
func (r *Registry) Forget(id facts.HostID, incarnation string) {
	r.seen[id] = slices.DeleteFunc(r.seen[id], func(i string) bool { return i == incarnation })
}

// Rename gives a host's incarnations to another name.
func (r *Registry) Rename(from, to facts.HostID) {
	r.seen[to] = r.seen[from]
	delete(r.seen, from)
}

// Remove forgets a host, but for the last words of its agents.
func (r *Registry) Remove(id facts.HostID, a *Agent) {
	delete(r.seen, id)
	r.removed = append(append(r.removed, a.past...), a.Last())
	r.removed = r.removed[max(0, len(r.removed)-maxRemoved):]
}

// Removed says whether a word was sent before its host was removed, so that it must not bring the host back.
func (r *Registry) Removed(said Word) bool {
	return slices.ContainsFunc(r.removed, func(w Word) bool { return w.Incarnation == said.Incarnation && w.Sequence >= said.Sequence })
}
