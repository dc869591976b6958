package farm

import "time"

// ground is what the hosts are like to jobs that ask for the same, whatever runs there.
type ground struct {
	usable, fit, slots int
	closed             int     // of the usable, hosts that run nothing for the job's user
	fitting            []*host // by name
	fits               []bool  // by place among all hosts
	refusing           []*host // take work, but do not serve the job
	shut               []*host // would serve the job, but take no work now
}

// land keeps the grounds for as long as no host changes: a submission need not look at thousands of them.
type land struct {
	grounds     map[string]*ground // by placeKey
	made, until time.Time          // a host may fall silent after that
}

// groundsKept bounds how many grounds are kept.
const groundsKept = 256

// landChanged notes that a host has come, or is other than it was to some job: by what it is, or by whether it takes work.
func (f *Farm) landChanged() { f.land, f.stepped = nil, false }

// groundOf looks at all hosts with the job's eyes, or knows what was seen there. The key is the job's placeKey.
func (f *Farm) groundOf(now time.Time, j *job, key string) *ground {
	if j.needs.looksAtRunning() {
		return f.lookAround(now, j)
	}
	l := f.land
	if l == nil || now.Before(l.made) || now.After(l.until) {
		l = &land{grounds: map[string]*ground{}, made: now, until: f.unchangedUntil(now)}
		f.land = l
	}
	g := l.grounds[key]
	if g == nil {
		if len(l.grounds) >= groundsKept {
			clear(l.grounds)
		}
		g = f.lookAround(now, j)
		l.grounds[key] = g
	}
	return g
}

// unchangedUntil is until when no host that takes work can fall silent, nor one forgive an owner, without an event.
func (f *Farm) unchangedUntil(now time.Time) time.Time {
	until := now.Add(f.policy.Liveness)
	for _, h := range f.hosts {
		if len(h.noOwner) > 0 {
			return now
		}
		if h.usable(now, f.policy) {
			if at := now.Add(f.policy.Liveness - h.silence(now)); at.Before(until) {
				until = at
			}
		}
	}
	return until
}

func (f *Farm) lookAround(now time.Time, j *job) *ground {
	all := f.sortedHosts()
	g := &ground{fits: make([]bool, len(all))}
	for n, h := range all {
		why := f.refusal(now, h, j, nil)
		switch usable := h.usable(now, f.policy); {
		case !usable && why.serves():
			g.shut = append(g.shut, h)
		case !usable:
		case !why.serves():
			g.usable++
			g.refusing = append(g.refusing, h)
			if !h.serves(now, j.User) {
				g.closed++
			}
		default:
			g.usable++
			g.fit++
			g.slots += h.Slots
			g.fits[n] = true
			g.fitting = append(g.fitting, h)
		}
	}
	return g
}

// refusals say why those hosts do not serve the job, in words that no other job may share: its need is among them.
func (f *Farm) refusals(now time.Time, j *job, hosts []*host) []refusals {
	var all refusalList
	for _, h := range hosts {
		all.add(h, j, f.refusal(now, h, j, nil))
	}
	return all.mostFirst()
}

// vacated notes that the host may have a free slot.
func (f *Farm) vacated(h *host) {
	if h.free() > 0 && !h.vacant {
		h.vacant = true
		f.vacant = append(f.vacant, h)
	}
}

// vacantHosts are all hosts with a free slot, in no order that means anything.
func (f *Farm) vacantHosts() []*host {
	kept := f.vacant[:0]
	for _, h := range f.vacant {
		if h.vacant = h.free() > 0; h.vacant {
			kept = append(kept, h)
		}
	}
	clear(f.vacant[len(kept):])
	f.vacant = kept
	return kept
}
