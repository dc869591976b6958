package agents

import (
	"slices"

	"qb/supervisor/job/facts"
)

// Registry is what agents said last in this term, whatever became of it: of each host, in the order in which they first
// spoke, and about hosts that were removed. A message may be read late, or twice; a known message says nothing.
type Registry struct {
	maxHosts int                     // names of which words are remembered
	seen     map[facts.HostID][]Word // the last of each agent that is the host, was it or greeted by its name
	// the last of each agent that claimed it or its name, apart, so that however many do displace no other
	claimed map[facts.HostID][]Word
	removed []Word
}

// NewRegistry returns a registry of the agents of so many hosts.
func NewRegistry(maxHosts int) Registry {
	return Registry{maxHosts: maxHosts, seen: map[facts.HostID][]Word{}, claimed: map[facts.HostID][]Word{}}
}

// The limits of a registry. Each message that is older than these words is read within seconds.
const (
	maxSeen    = 64 // of one host
	maxRemoved = 1000
)

// Note notes that an agent has spoken.
func (r *Registry) Note(id facts.HostID, said Word) { r.note(r.seen, id, said) }

// NoteClaim notes that an agent has claimed a host.
func (r *Registry) NoteClaim(id facts.HostID, said Word) { r.note(r.claimed, id, said) }

func (r *Registry) note(in map[facts.HostID][]Word, id facts.HostID, said Word) {
	words := in[id]
	if at := indexOf(words, said.Incarnation); at >= 0 {
		words[at].Sequence = max(words[at].Sequence, said.Sequence)
		return
	}
	if words == nil && len(in) >= r.maxHosts {
		return
	}
	words = append(words, said)
	in[id] = words[max(0, len(words)-maxSeen):]
}

func indexOf(words []Word, incarnation string) int {
	return slices.IndexFunc(words, func(w Word) bool { return w.Incarnation == incarnation })
}

// Before says whether an incarnation spoke first, and another after it.
func (r *Registry) Before(id facts.HostID, incarnation, other string) bool {
	seen := r.seen[id]
	at := indexOf(seen, incarnation)
	return at >= 0 && at < indexOf(seen, other)
}

// Forget lets an incarnation speak for the first time again.
func (r *Registry) Forget(id facts.HostID, incarnation string) {
	r.seen[id] = slices.DeleteFunc(r.seen[id], func(w Word) bool { return w.Incarnation == incarnation })
}

// Rename gives a host's words to another name, which is no other host's.
func (r *Registry) Rename(from, to facts.HostID) {
	seen := r.seen[from]
	r.Remove(from) // as no host has the name, a late word would make one
	r.Remove(to)
	r.seen[to] = seen
}

// Remove forgets a host, except for the last words about it.
func (r *Registry) Remove(id facts.HostID) {
	r.removed = append(append(r.removed, r.seen[id]...), r.claimed[id]...)
	r.removed = r.removed[max(0, len(r.removed)-maxRemoved):]
	delete(r.seen, id)
	delete(r.claimed, id)
}

// Late says whether a word about a host was read already, or is older than one of its agent that was.
func (r *Registry) Late(id facts.HostID, said Word) bool {
	return said.in(r.seen[id]) || r.LateClaim(id, said)
}

// LateClaim says that of a word that claimed a host, or is older than one of its agent that did.
func (r *Registry) LateClaim(id facts.HostID, said Word) bool { return said.in(r.claimed[id]) }

// Removed says whether a word was sent before its host was removed, so that it must not bring the host back.
func (r *Registry) Removed(said Word) bool { return said.in(r.removed) }

// in says whether the word is among others, or older than one of them.
func (w Word) in(words []Word) bool {
	return slices.ContainsFunc(words, func(o Word) bool {
		return o.Incarnation == w.Incarnation &&
			o.Sequence >= w.Sequence
	})
}
