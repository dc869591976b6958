package supervisor

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"qb/supervisor/facts"
	"qb/supervisor/farm"
)

// display goes out with a commit: a view of the farm, or what the commit's replies have changed of the last one.
type display struct {
	view *farm.View
	part farm.Part
}

// picture is what listings show: a view, and what people have changed since it was made.
type picture struct {
	*farm.View

	mu    sync.RWMutex
	since farm.Part
}

func newPicture(v *farm.View) *picture {
	return &picture{View: v, since: farm.Part{Jobs: map[facts.JobID]*facts.JobView{}, Hosts: map[facts.HostID]*farm.HostView{}}}
}

func (p *picture) enter(part farm.Part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.since.Jobs, part.Jobs)
	maps.Copy(p.since.Hosts, part.Hosts)
}

func (p *picture) job(id facts.JobID) (facts.JobView, bool) {
	p.mu.RLock()
	v, changed := p.since.Jobs[id]
	p.mu.RUnlock()
	if !changed {
		n, known := slices.BinarySearchFunc(p.Jobs, id, func(v facts.JobView, id facts.JobID) int { return int(v.ID - id) })
		if !known {
			return facts.JobView{}, false
		}
		v = &p.Jobs[n]
	}
	if v == nil {
		return facts.JobView{}, false
	}
	return *v, true
}

// hosts are all hosts by name.
func (p *picture) hosts() iter.Seq[*farm.HostView] {
	return func(yield func(*farm.HostView) bool) {
		p.mu.RLock()
		since := maps.Clone(p.since.Hosts)
		p.mu.RUnlock()
		for n := range p.Hosts {
			h := &p.Hosts[n]
			if v, changed := since[h.ID]; changed {
				h = v
			}
			if h != nil && !yield(h) {
				return
			}
		}
	}
}
