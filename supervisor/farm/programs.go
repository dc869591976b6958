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
	waiting []*model.Instance // that waited for an item, the longest first; some may have ended
}

// keep notes that the program of an instance that has closed is still there.
func (pr *programs) keep(now time.Time, i *model.Instance, rule planner.EndRule) {
	word, waits := model.NextWord(i.Job)
	p := model.Program{Word: word}
	if waits && rule == planner.TakesNextItem && pr.policy.LoadOnceWait > 0 {
		p.Until = now.Add(pr.policy.LoadOnceWait)
		pr.waiting = append(pr.waiting, i)
		pr.replanSoon(p.Until)
	} else if waits {
		p.Word = model.ProgramGivesWay
	}
	pr.put(i, p)
}

// put has the worker hear what a program is to do.
func (pr *programs) put(i *model.Instance, p model.Program) {
	model.Keep(i, p)
	pr.syncs.answerSoon(i.Host)
}

// leave has a program end that waits.
func (pr *programs) leave(i *model.Instance, word model.ProgramWord) {
	pr.put(i, model.Program{Word: word})
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
	pr.waiting = slices.DeleteFunc(pr.waiting, func(i *model.Instance) bool { return !i.AwaitsItem() })
	for _, i := range pr.waiting {
		j := i.Job
		if pr.out.Spent() {
			return
		}
		pr.doing.job = j.ID
		takes := j.WantsInstances() && len(j.Instances) < j.Width(&pr.policy.Share) && j.Full(nil) == nil
		if takes {
			end := itemEnd(now, i)
			takes = end.Rule() == planner.TakesNextItem
		}
		switch word, waits := model.NextWord(j); {
		case takes:
			model.Unload(i)
			i.Attach()
			if !giveItem(now, i) {
				i.Detach()
				pr.leave(i, model.ProgramGivesWay)
			}
		case !waits:
			pr.leave(i, word)
		case !now.Before(i.Until):
			pr.leave(i, model.ProgramGivesWay)
		case word != i.Word:
			pr.put(i, model.Program{Word: word, Until: i.Until})
		}
	}
}
