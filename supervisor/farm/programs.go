package farm

import (
	"slices"
	"time"

	"qb/supervisor/farm/model"
	"qb/supervisor/share/planner"
)

// programs are those of load-once jobs that outlive their instances. They are not stored: the next term has the
// programs end that it does not know.
type programs struct {
	*shared
	syncs   *syncs
	waiting []*waitingPrograms // by job, the longest wait first
}

// waitingPrograms are the programs of a job that wait for an item, the longest first. Some may have ended since. As
// long as the job has no item for them they are looked at when the first has waited for long enough, so that a turn of
// the loop costs the number of jobs and not that of programs.
type waitingPrograms struct {
	job    *model.Job
	status model.ProgramStatus // with which they are answered
	first  time.Time           // when one of them has waited for long enough
	list   []*model.Instance
}

// keep notes that the program of an instance that has closed is still there.
func (pr *programs) keep(now time.Time, i *model.Instance, rule planner.EndRule) {
	status, waits := model.NextStatus(i.Job)
	p := model.Program{Status: status}
	if waits && rule == planner.TakesNextItem && pr.policy.LoadOnceWait > 0 {
		p.Until = now.Add(pr.policy.LoadOnceWait)
		pr.await(i, p)
		pr.replanSoon(p.Until)
	} else if waits {
		p.Status = model.ProgramGivesWay
	}
	pr.put(i, p)
}

func (pr *programs) await(i *model.Instance, p model.Program) {
	n := slices.IndexFunc(pr.waiting, func(w *waitingPrograms) bool { return w.job == i.Job })
	if n < 0 {
		n = len(pr.waiting)
		pr.waiting = append(pr.waiting, &waitingPrograms{job: i.Job, status: p.Status, first: p.Until})
	}
	w := pr.waiting[n]
	w.list = append(w.list, i)
	if p.Until.Before(w.first) { // supervisor_loadonce_wait has become shorter
		w.first = p.Until
	}
}

// awaits says whether a program is in a list, which is looked at before the program has waited for long enough.
func (pr *programs) awaits(i *model.Instance) bool {
	return slices.ContainsFunc(pr.waiting, func(w *waitingPrograms) bool {
		return w.job == i.Job && !i.Until.Before(w.first) && slices.Contains(w.list, i)
	})
}

// put has the worker hear what a program is to do.
func (pr *programs) put(i *model.Instance, p model.Program) {
	model.Keep(i, p)
	pr.syncs.answerSoon(i.Host)
}

// leave has a program end that waits.
func (pr *programs) leave(i *model.Instance, status model.ProgramStatus) {
	pr.put(i, model.Program{Status: status})
	pr.planStale = true
}

// gone notes that a program has ended.
func (pr *programs) gone(i *model.Instance) {
	model.Unload(i)
	pr.syncs.answerSoon(i.Host)
	pr.planStale = true
}

// goneOf notes that those programs of a host have ended for which so returns true.
func (pr *programs) goneOf(h *model.Host, so func(*model.Instance) bool) {
	for _, i := range h.SortedPrograms() {
		if so(i) {
			pr.gone(i)
		}
	}
}

// reconcile notes which programs have ended by the list of their worker. A program that has ended is not started
// again for what the farm says of it, so its absence alone proves its end, on the boot and by the state folder under
// which it was started.
func (pr *programs) reconcile(h *model.Host) {
	for _, i := range h.SortedPrograms() {
		if r, there := h.Has(i); there {
			i.Resides(r.Memory)
		} else if i.GivenUnder(h.HostFacts) {
			pr.gone(i)
		}
	}
}

// giveWay has the programs on a host end that wait, as something is to start there when there is room.
func (pr *programs) giveWay(h *model.Host) {
	for _, i := range h.SortedPrograms() {
		if i.AwaitsItem() {
			pr.leave(i, model.ProgramGivesWay)
		}
	}
}

// revive gives programs that wait an item of their job, and has the programs end that have waited for long enough. A
// program takes an item as an instance does whose item has ended, but not if its job is as wide already as it may be.
func (pr *programs) revive(now time.Time, itemEnd func(time.Time, *model.Instance) planner.ItemEnd,
	giveItem func(time.Time, *model.Instance) bool) {
	pr.waiting = slices.DeleteFunc(pr.waiting, func(w *waitingPrograms) bool {
		status, waits := model.NextStatus(w.job)
		if waits && status == w.status && now.Before(w.first) || pr.out.Spent() {
			return false
		}
		pr.doing.job = w.job.ID
		w.status = status
		w.first = time.Time{}
		w.list = slices.DeleteFunc(w.list, func(i *model.Instance) bool {
			if i.AwaitsItem() && !pr.out.Spent() {
				pr.reviveOne(now, i, itemEnd, giveItem)
			}
			if i.AwaitsItem() && (w.first.IsZero() || i.Until.Before(w.first)) {
				w.first = i.Until
			}
			return !i.AwaitsItem()
		})
		if pr.out.Spent() {
			w.first = time.Time{} // the rest goes on in the next turn
		}
		return len(w.list) == 0
	})
}

func (pr *programs) reviveOne(now time.Time, i *model.Instance,
	itemEnd func(time.Time, *model.Instance) planner.ItemEnd, giveItem func(time.Time, *model.Instance) bool) {
	j := i.Job
	takes := j.WantsInstances() && len(j.Instances) < j.Width(&pr.policy.Share) && j.Full(nil) == nil
	if takes {
		end := itemEnd(now, i)
		takes = end.Rule() == planner.TakesNextItem
	}
	switch status, waits := model.NextStatus(j); {
	case takes:
		model.Unload(i)
		i.Attach()
		if !giveItem(now, i) {
			i.Detach()
			pr.leave(i, model.ProgramGivesWay)
		}
	case !waits:
		pr.leave(i, status)
	case !now.Before(i.Until):
		pr.leave(i, model.ProgramGivesWay)
	case status != i.Status:
		pr.put(i, model.Program{Status: status, Until: i.Until})
	}
}
