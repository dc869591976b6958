package farm

import (
	"slices"
	"strings"
)

// planResources tells a plan what there is of the resources that its jobs take. Like slots, what instances on
// their way out hold counts as there; what they are to have who hold other amounts than their job now takes
// counts as that.
func (f *Farm) planResources(p *planned) {
	var names []string
	for n := range p.Jobs {
		for name := range p.Jobs[n].Takes {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if names == nil {
		return
	}
	p.Resources = map[string]int64{}
	for _, name := range names {
		if !strings.HasPrefix(name, "host.") {
			p.Resources[name] = f.policy.Resources[name]
		}
	}
	for n, h := range p.hosts {
		p.Hosts[n].Resources = map[string]int64{}
		for _, name := range names {
			unseen := h.unseenOf(name)
			switch {
			case !strings.HasPrefix(name, "host."):
				p.Resources[name] -= unseen
			case h.Stock(name) > 0:
				p.Hosts[n].Resources[name] = max(0, h.Stock(name)-unseen)
			}
		}
	}
	for name, left := range p.Resources {
		p.Resources[name] = max(0, left)
	}
}

// unseenOf is what instances on the host hold of a resource beyond what a plan sees there.
func (h *host) unseenOf(name string) (sum int64) {
	for _, i := range h.instances {
		if !i.stopping() && !i.leaving {
			sum += i.attempt.Holds[name] - i.job.needs.Takes[name]
		}
	}
	return sum
}

// comingFree is what is left of a resource once those on their way out have gone: on one host, or of the whole
// farm with host nil.
func (f *Farm) comingFree(name string, h *host) int64 {
	if h == nil {
		left := f.policy.Resources[name]
		for _, other := range f.hosts {
			left -= other.staying(name)
		}
		return left
	}
	return h.Stock(name) - h.staying(name)
}

func (h *host) staying(name string) (sum int64) {
	for _, i := range h.instances {
		if !i.stopping() && !i.leaving {
			sum += i.attempt.Holds[name]
		}
	}
	return sum
}
