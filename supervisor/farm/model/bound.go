package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// Bound is a limit of how many instances run together: those of a user, of a process group or of an account.
type Bound struct {
	Name    string // as plans know it, such as user:ada
	Most    int
	Held    int // instances
	Leaving int // of those: on their way out
	jobs    int // that are under it
	whose   string
	setting string
}

// Bounds are the limits that act on the jobs in memory.
type Bounds struct {
	limits message.InstanceLimits
	byName map[string]*Bound
}

// SetLimits puts the jobs under other limits.
func (js *Jobs) SetLimits(limits message.InstanceLimits) {
	for _, j := range js.Sorted() {
		js.bounds.release(j)
	}
	js.bounds.limits = limits
	for _, j := range js.Sorted() {
		js.Rebind(j)
	}
}

// Rebind puts a job under the limits of its user, process group and account as they are now.
func (js *Jobs) Rebind(j *Job) {
	js.bounds.release(j)
	for _, b := range js.bounds.of(j) {
		b.jobs++
		b.count(j, 1)
		j.bounds = append(j.bounds, b)
	}
	j.Changed()
}

// Suppose puts a job that is not one of the farm's under the limits and conditions that would act on it, until end is
// called. It is counted nowhere.
func (js *Jobs) Suppose(j *Job) (end func()) {
	for _, b := range (&Bounds{js.bounds.limits, map[string]*Bound{}}).of(j) {
		j.bounds = append(j.bounds, cmp.Or(js.bounds.byName[b.Name], b))
	}
	js.Watch(j)
	return func() {
		for _, g := range j.Gates {
			js.unpin(g)
		}
		j.Gates, j.bounds = nil, nil
	}
}

// release takes a job out of its limits; the ones that no job is under are forgotten.
func (bs *Bounds) release(j *Job) {
	for _, b := range j.bounds {
		b.count(j, -1)
		if b.jobs--; b.jobs == 0 {
			delete(bs.byName, b.Name)
		}
	}
	j.bounds = nil
}

func (b *Bound) count(j *Job, by int) {
	for p, n := range j.Parts {
		b.add(role(p), by*n)
	}
}

// add counts so many instances that play the part.
func (b *Bound) add(p role, n int) {
	if p == roleNone {
		return
	}
	b.Held += n
	if p == RoleEnding {
		b.Leaving += n
	}
}

// of finds the limits of a job, or makes them.
func (bs *Bounds) of(j *Job) (list []*Bound) {
	add := func(l message.InstanceLimit, key, name, whose, setting string) {
		most, limited := l.Of(key)
		if !limited {
			return
		}
		b := bs.byName[name]
		if b == nil {
			b = &Bound{Name: name, Most: most, whose: whose, setting: setting}
			bs.byName[name] = b
		}
		list = append(list, b)
	}
	add(bs.limits.User, j.User, "user:"+j.User, "user "+j.User, "supervisor_user_subjob_limits")
	group := strconv.FormatInt(int64(j.PGrp), 10)
	add(bs.limits.PGrp, j.User, "pgrp:"+group, "process group "+group, "supervisor_pgrp_subjob_limits")
	limit := bs.limits.Account
	for name := j.Account; name != ""; {
		add(limit, name, "account:"+name, "account "+name, "supervisor_account_subjob_limits")
		limit = message.InstanceLimit{Named: limit.Named} // those above it have one if they are named
		name = name[:max(0, strings.LastIndexByte(name, '/'))]
	}
	return list
}

// recountBounds corrects the limits of the instance's job by what it has become.
func (i *Instance) recountBounds(was, is role) {
	for _, b := range i.Job.bounds {
		b.add(was, -1)
		b.add(is, 1)
	}
}

// Full is the first limit that keeps the job from another instance, nil if none does. An instance that is about to go
// counts no more.
func (j *Job) Full(going *Instance) *Bound {
	for _, b := range j.bounds {
		held := b.Held
		if going != nil && slices.Contains(going.Job.bounds, b) {
			held--
		}
		if held >= b.Most {
			return b
		}
	}
	return nil
}

// Exceeded is a limit of the job that more instances are under than it allows, those on their way out left out; nil if
// there is none.
func (j *Job) Exceeded() *Bound {
	for _, b := range j.bounds {
		if b.Held-b.Leaving > b.Most {
			return b
		}
	}
	return nil
}

// Why says that the limit is reached.
func (b *Bound) Why() facts.Why {
	return facts.Because(facts.ReasonInstanceLimit, facts.Params{Resource: b.Name, Limit: int64(b.Most)},
		fmt.Sprintf("%s has %s, and may have %d (%s)", b.whose, facts.Several(b.Held, "instance"), b.Most, b.setting))
}

// Claims are what an instance of the job takes beside slots and memory, one of each of its limits included.
func (j *Job) Claims() map[string]int64 { return j.withBounds(j.Needs.Takes) }

// Claims are what the instance has of that.
func (i *Instance) Claims() map[string]int64 { return i.Job.withBounds(i.Attempt.Holds) }

func (j *Job) withBounds(takes map[string]int64) map[string]int64 {
	if len(j.bounds) == 0 {
		return takes
	}
	all := make(map[string]int64, len(takes)+len(j.bounds))
	maps.Copy(all, takes)
	for _, b := range j.bounds {
		all[b.Name] = 1
	}
	return all
}

// AddLimits adds to a plan the limits of a job.
func (j *Job) AddLimits(p *planner.Snapshot) {
	for _, b := range j.bounds {
		if p.Limits == nil {
			p.Limits = map[string]int64{}
		}
		p.Limits[b.Name] = int64(b.Most)
		p.Left[b.Name] = int64(b.Most - b.Held)
		p.Coming[b.Name] = int64(b.Leaving)
	}
}

// CheckBounds recounts what is under each limit.
func (js *Jobs) CheckBounds() error {
	anew := map[string]Bound{}
	for _, j := range js.ByID {
		for _, b := range j.bounds {
			if js.bounds.byName[b.Name] != b {
				return fmt.Errorf("job %d is under a limit %s that is not known", j.ID, b.Name)
			}
			c := anew[b.Name]
			c.jobs++
			for _, i := range j.Instances {
				c.add(i.partAnew(), 1)
			}
			anew[b.Name] = c
		}
	}
	for name, b := range js.bounds.byName {
		if c := anew[name]; c.Held != b.Held || c.Leaving != b.Leaving || c.jobs != b.jobs {
			return fmt.Errorf("limit %s: %d instances, %d leaving, of %d jobs are counted, there are %d, %d, %d", name, b.Held,
				b.Leaving, b.jobs, c.Held, c.Leaving, c.jobs)
		}
	}
	return nil
}
