package farm

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// preemptPrimaries lets waiting primaries of a strictly better priority take the slots of worse ones,
// under supervisor_preempt_policy: passive at the end of the item, aggressive at once, disabled never. It
// acts only for primaries that the balance found no slot for, and never between equal priorities. With
// SmartShare's own preemption disabled, secondaries of worse jobs yield in the same way.
func (f *Farm) preemptPrimaries(now time.Time, p *planned, b Plan) {
	if f.policy.PrimaryPreempt == "disabled" {
		return
	}
	taken := map[*instance]bool{}
	for _, n := range b.Order {
		need := b.Jobs[n].Unplaced * p.Jobs[n].Slots
		for _, i := range f.yielding(p, n, taken) {
			if need <= 0 {
				break
			}
			taken[i] = true
			need -= i.slots
			cause := fmt.Sprintf("gives way to job %d of better priority", p.jobs[n].ID)
			if f.policy.PrimaryPreempt == "aggressive" && !i.protected() {
				f.stop(now, i, cause)
			} else {
				f.drain(now, i, cause)
			}
		}
	}
}

func (i *instance) protected() bool { return i.job.preempted[i.attempt.Item] >= protectedAfter }

// yielding lists the instances that may give way to job n: worst priority first, then, under passive, those
// nearest their end, under aggressive those that lose least.
func (f *Farm) yielding(p *planned, n int, taken map[*instance]bool) []*instance {
	var found []*instance
	for m, i := range p.instances {
		if taken[i] || i.stopping() || i.job.Priority <= p.jobs[n].Priority || i.job.hasFlag("uninterruptible") || i.job.hasFlag("elite") {
			continue
		}
		if i.kind == Secondary && p.Policy.Preempt != "disabled" {
			continue
		}
		if list := p.Jobs[n].Eligible; list != nil && !slices.Contains(list, p.Running[m].Host) {
			continue
		}
		found = append(found, i)
	}
	slices.SortFunc(found, func(a, b *instance) int {
		age := b.attempt.StartedAt.Compare(a.attempt.StartedAt) // youngest first: loses least
		if f.policy.PrimaryPreempt == "passive" {
			age = -age
		}
		return cmp.Or(-cmp.Compare(a.job.Priority, b.job.Priority), -cmp.Compare(a.kind, b.kind), age,
			cmp.Compare(a.job.ID, b.job.ID), cmp.Compare(a.number, b.number))
	})
	return found
}

func (j *job) hasFlag(name string) bool { return slices.Contains(j.Flags, name) }
