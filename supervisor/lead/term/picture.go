package term

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// Display goes out with a commit: a view of the farm, or what the commit's replies have changed of the last one.
type Display struct {
	View *message.View
	Part message.ViewDelta
}

// Picture is what listings show: a view, and what people have changed since it was made.
type Picture struct {
	*message.View

	mu    sync.RWMutex
	since message.ViewDelta
}

// NewPicture is a view that nothing has changed since.
func NewPicture(v *message.View) *Picture {
	return &Picture{View: v, since: message.ViewDelta{Jobs: map[facts.JobID]*facts.JobView{},
		Hosts: map[facts.HostID]*message.HostView{}}}
}

// Enter takes in what a commit has changed.
func (p *Picture) Enter(part message.ViewDelta) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.since.Jobs, part.Jobs)
	maps.Copy(p.since.Hosts, part.Hosts)
}

// Job is a job as it is now.
func (p *Picture) Job(id facts.JobID) (facts.JobView, bool) {
	p.mu.RLock()
	v, changed := p.since.Jobs[id]
	p.mu.RUnlock()
	if n, known := slices.BinarySearchFunc(p.Jobs, id, func(v *facts.JobView, id facts.JobID) int {
		return int(v.ID - id)
	}); known && !changed {
		v = p.Jobs[n]
	}
	if v == nil {
		return facts.JobView{}, false
	}
	return *v, true
}

// AllHosts are all hosts by name.
func (p *Picture) AllHosts() iter.Seq[*message.HostView] {
	return func(yield func(*message.HostView) bool) {
		p.mu.RLock()
		since := maps.Clone(p.since.Hosts)
		p.mu.RUnlock()
		for _, h := range p.Hosts {
			if v, changed := since[h.ID]; changed {
				h = v
			}
			if h != nil && !yield(h) {
				return
			}
		}
	}
}
