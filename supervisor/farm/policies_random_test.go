package farm_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// TestAllPoliciesAtOnce drives farms on which everything acts together (priorities, clusters, host lists,
// groups, memory, licences, the share of slot time, fairshare among equal priorities or owners, and in weights, listed
// and open accounts, budgets of both kinds, both divisions of the surplus, all policies of preemption, takeovers).
// These rules of the whole hold after every step:
//
//  1. Slots, licences and memory are never booked beyond what there is, and every instance is where its job may be (bookedOnce,
//     memoryIsCovered).
//  2. What waits says why (waitingHasReason).
//  3. A job is charged to the account that its owner may name, or to the default, and no one is in another (submitCharged,
//     booksAreKept).
//  4. Each attempt is charged once, to its payer and to each budget that it counts against (booksAreKept).
//  5. Nothing starts beyond a budget of the kind wait (look).
//  6. No primary goes to a job while another that goes before it, and could use the slot, lacks one (primariesByRank).
//  7. Of like secondaries the newest is stopped (newestFirst, also in TestNewestSecondaryGoesFirst).
//
// These hold at rest, when nothing has happened for as long as the policies wait:
//
//  8. Nothing moves any more (comesToRest).
//  9. No free slot is left that serves a waiting job, unless its reason is a budget or a limit (nothingIdles).
//  10. No job lacks a primary beside another's secondary (primariesFirst).
//  11. No job over a budget of the kind idle holds what another waits for (idleYields).
//  12. Secondaries of like jobs differ by one at most where the surplus is divided among jobs (equalShares).
//  13. No user, process group or account has more instances than its limit, and the reason instance_limit is reported for jobs
//     at one alone (limitsHold).
//  14. The reason over_budget is reported for jobs beyond a budget, and for no others (budgetsBar).
//
// At the end everything has run. The rules that a fault breaks are tried out by `make bugs`.
func TestAllPoliciesAtOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		w, hosts := policiesFarm(rt, r)
		for range rapid.IntRange(5, 30).Draw(rt, "steps") {
			before := w.rankedNow()
			if policiesStep(rt, w, hosts) {
				w.primariesByRank(rt, before)
			}
			w.booksAreKept(rt)
			bookedOnce(rt, r)
			memoryIsCovered(rt, r)
			waitingHasReason(rt, r)
			if rapid.IntRange(0, 7).Draw(rt, "rests") == 0 {
				comesToRest(rt, w)
			}
		}
		comesToRest(rt, w)
		for _, path := range slices.Sorted(maps.Keys(w.budgets)) {
			r.say("budget " + path + " 0")
		}
		clear(w.budgets)
		calmMemory(rt, r, hosts, func(j *facts.JobView) bool { return allowed(r, j) })
	})
}

// policiesFarm gives a rig a policy, accounts and hosts, so many, on which everything acts together.
func policiesFarm(rt *rapid.T, r *rig) (w *policyWatch, hosts int) {
	pick := func(name string, of ...string) string { return name + "=" + rapid.SampledFrom(of).Draw(rt, name) }
	r.say("policy " + strings.Join([]string{"lease=60s", "min_run=3s", "settle=1s", "resources=license.nuke:2", pick("commit", "0", "0", "3", "11"),
		pick("user_limits", "", "", "*:3", "u1:2,*:6"), pick("pgrp_limits", "", "", "u2:1"), pick("account_limits", "", "", "show:4,misc:3"),
		pick("mode", "jobs", "users", "none"), pick("preempt", "aggressive", "passive", "disabled"),
		pick("primary", "aggressive", "passive", "disabled"), pick("placement", "best_fit", "spread", "pack"),
		pick("cpu_share", "off", "stride", "lottery"), pick("cpu_share_by", "users", "jobs"), pick("fairshare", "true", "false"), pick("weights", "true", "false"),
		pick("accounts", "listed", "listed", "open"), pick("order", "cluster,priority,fairshare,vtime,age,id", "priority,cluster,fairshare,vtime,age,id",
			"cluster,operator,fairshare,own_priority,vtime,age,id", "operator,fairshare,own_priority,cluster,vtime,age,id"), "default_priority=2"}, " "))
	w = watchPolicies(r, r.policy.Fairshare.Accounts == "open")
	r.say("account misc default=*")
	r.say("account show users=u1,u2")
	r.say("account show/shot users=u1,u3 default=u1")
	w.members["misc"] = nil
	w.members["show"], w.members["show/shot"] = []string{"u1", "u2"}, []string{"u1", "u3"}
	hosts = rapid.IntRange(1, 4).Draw(rt, "hosts")
	for n := range hosts {
		r.say(fmt.Sprintf("host h%d slots=%d mem=%d machine=m%d cap=%d cluster=%s groups=g%d", n, rapid.IntRange(1, 5).Draw(rt, "slots"),
			rapid.IntRange(4, 16).Draw(rt, "memory"), n, rapid.SampledFrom([]int{0, 0, 3}).Draw(rt, "cap"),
			rapid.SampledFrom([]string{"/", "/a", "/a/b"}).Draw(rt, "cluster"), n%2))
	}
	return w, hosts
}

// TestNewestSecondaryGoesFirst is rule 7 where it matters: secondaries of a job that began at different times give way,
// one after another, to jobs that come.
func TestNewestSecondaryGoesFirst(t *testing.T) {
	older := 0
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.say("policy lease=60s settle=1s preempt=aggressive default=-1 mode=" + rapid.SampledFrom([]string{"jobs", "users"}).Draw(rt, "mode"))
		w := watchPolicies(r, false)
		for n := range rapid.IntRange(1, 2).Draw(rt, "hosts") {
			r.say(fmt.Sprintf("host h%d slots=%d", n, rapid.IntRange(3, 6).Draw(rt, "slots")))
		}
		r.say("submit wide user=u1 items=1-100")
		for range rapid.IntRange(2, 8).Draw(rt, "ends") {
			r.say(fmt.Sprintf("advance %ds", rapid.IntRange(1, 9).Draw(rt, "seconds")))
			if at, id, ok := anyRunning(rt, r); ok {
				at.end(id, "exit", 0, "", 1)
				r.settle()
			}
		}
		for range rapid.IntRange(1, 3).Draw(rt, "others") {
			r.say(fmt.Sprintf("submit other user=u%d cpus=%d items=1-3", rapid.IntRange(2, 3).Draw(rt, "user"), rapid.IntRange(1, 3).Draw(rt, "cpus")))
			r.say(fmt.Sprintf("advance %ds", rapid.IntRange(1, 9).Draw(rt, "seconds")))
		}
		if w.broken != "" {
			rt.Fatal(w.broken)
		}
		older += w.older
	})
	if older == 0 {
		t.Error("no secondary had the choice of another that began at another time")
	}
}

// policiesStep does one thing; true if the farm's answer to it is of one moment.
func policiesStep(rt *rapid.T, w *policyWatch, hosts int) bool {
	r := w.r
	number := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, name) }
	maybe := func(name, format string, args ...any) string {
		if rapid.IntRange(0, 3).Draw(rt, name) > 0 {
			return ""
		}
		return " " + fmt.Sprintf(format, args...)
	}
	job := fmt.Sprint(number("job", 1, max(1, len(r.rows.jobs))))
	host := fmt.Sprintf("h%d", number("host", 0, hosts-1))
	switch verb := rapid.SampledFrom([]string{"submit", "submit", "submit", "finish", "finish", "finish", "uses", "modify", "advance", "crash",
		"budget", "budget", "share", "lock", "unlock", "interrupt", "kill", "block", "unblock"}).Draw(rt, "verb"); verb {
	case "submit":
		takes := fmt.Sprintf("host.processors=%d", rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(rt, "processors"))
		if asked := number("asked", -8, 8); asked > 0 {
			takes += fmt.Sprintf(",host.memory=%dMB", 256*asked)
		}
		if number("licence", 0, 4) == 0 {
			takes += ",license.nuke=1"
		}
		user := fmt.Sprintf("u%d", number("user", 1, 3))
		asked := rapid.SampledFrom([]string{"", "", "show", "show/shot", "misc", "new"}).Draw(rt, "account")
		submitCharged(rt, w, user, asked, fmt.Sprintf("submit j user=%s account=%s cpus=%d max=%d items=1-%d priority=%d cluster=%s reservations=%s", user, asked, number("cpus", 1, 3),
			number("max", -1, 6), number("items", 1, 8), number("priority", 1, 3), rapid.SampledFrom([]string{"/", "/a", "/a/b", "/c"}).Draw(rt, "of cluster"), takes)+
			maybe("listed", "hosts=%s", host)+maybe("grouped", "groups=g%d", number("group", 0, 1))+maybe("kept", "flags=uninterruptible")+maybe("operator", "operator"))
	case "share":
		r.say(fmt.Sprintf("share %s %d", rapid.SampledFrom([]string{"u1", "show/", "show/u2"}).Draw(rt, "place"), number("shares", 0, 5)))
	case "budget":
		setBudget(rt, w, rapid.SampledFrom([]string{"u1", "u2", "show/", "show/shot/", "show/u2", "misc/"}).Draw(rt, "place"))
	case "finish", "uses":
		at, id, ok := anyRunning(rt, r)
		if !ok {
			return true
		}
		megabytes := 256 * number("quarters", 0, 8)
		if verb == "uses" {
			at.mem.resident[id] = int64(megabytes) << 20
			at.owes = true
		} else {
			at.end(id, "exit", 0, "", float64(number("wall", 1, 30)))
			at.ends(id, []string{fmt.Sprintf("peak=%dM", megabytes), fmt.Sprintf("wall=%d", number("wall", 1, 30))})
		}
		r.settle()
	case "modify":
		r.say(fmt.Sprintf("modify %s cpus=%d max=%d priority=%d", job, number("cpus", 1, 4), number("max", -1, 5), number("priority", 1, 3)) + maybe("operator", "operator"))
	case "advance":
		r.say(fmt.Sprintf("advance %ds", number("seconds", 1, 9)))
		return false
	case "crash":
		r.say("crash")
	case "lock", "unlock":
		r.say(verb + " " + host)
	default:
		r.say(verb + " " + job)
	}
	return true
}

// submitCharged submits, and wants the job in the account that it should be charged to, or refused.
func submitCharged(rt *rapid.T, w *policyWatch, user, asked, line string) {
	jobs := len(w.r.rows.jobs)
	said := w.r.say(line)
	account, may := w.chosen(user, asked)
	switch row := w.r.rows.jobs[facts.JobID(jobs+1)]; {
	case may == strings.Contains(said, "refused"):
		rt.Fatalf("accounts: %s asks for %q:\n%s", user, asked, said)
	case may && row.Account != account:
		rt.Fatalf("accounts: %s asks for %q and is charged to %q, not %q", user, asked, row.Account, account)
	}
}

// setBudget gives a place a budget, or takes it away.
func setBudget(rt *rapid.T, w *policyWatch, path string) {
	b := watchedBudget{float64(rapid.IntRange(0, 60).Draw(rt, "amount")), rapid.SampledFrom([]time.Duration{0, time.Minute, 5 * time.Minute}).Draw(rt, "per"),
		rapid.SampledFrom([]string{"wait", "idle"}).Draw(rt, "over"), len(w.charges)}
	if was, has := w.budgets[path]; has && was.period == b.period {
		b.since = was.since
	}
	if w.budgets[path] = b; b.amount == 0 {
		delete(w.budgets, path)
	}
	w.r.say(fmt.Sprintf("budget %s %v per=%s over=%s", path, b.amount, b.period, b.beyond))
}

// bookedOnce holds slots, licences, host lists and groups against the rows.
func bookedOnce(rt *rapid.T, r *rig) {
	slots, licences := map[facts.HostID]int{}, int64(0)
	for id, a := range r.rows.attempts {
		if !a.State.Live() {
			continue
		}
		slots[a.Host] += a.Taken()
		licences += a.Holds["license.nuke"]
		j := r.rows.jobs[id.Job]
		if len(j.Hosts) > 0 && !slices.Contains(j.Hosts, string(a.Host)) {
			rt.Fatalf("%v runs on %s, its job may use %v", id, a.Host, j.Hosts)
		}
		if len(j.Groups) > 0 && !slices.Contains(r.workers[a.Host].groups, j.Groups[0]) {
			rt.Fatalf("%v runs on %s, which is not in %v", id, a.Host, j.Groups)
		}
	}
	for host, n := range slots {
		if n > r.workers[host].slots {
			rt.Fatalf("%d slots are booked on %s, which has %d", n, host, r.workers[host].slots)
		}
	}
	if licences > 2 {
		rt.Fatalf("%d of 2 licences are booked", licences)
	}
}

// waitingHasReason wants a sentence of every job that has items which wait.
func waitingHasReason(rt *rapid.T, r *rig) {
	for _, j := range r.farm.View(r.now).Jobs {
		if j.Items.Pending > 0 && j.Reason == "" {
			rt.Fatalf("job %d is %s with %+v and gives no reason", j.ID, j.Status, j.Items)
		}
	}
}

// comesToRest lets time pass on a farm on which nothing happens: after the delays that the policy knows
// nothing starts, stops or changes its kind any more. Fairshare in the order alone moves no one who runs; with
// weights a farm never rests, for what runs is used.
func comesToRest(rt *rapid.T, w *policyWatch) {
	r := w.r
	r.say("advance 12s")
	if r.policy.Fairshare.Weights || len(w.budgets) > 0 {
		atRest(rt, w)
		return
	}
	type place struct {
		host facts.HostID
		kind facts.Kind
	}
	live := func() map[facts.AttemptID]place {
		at := map[facts.AttemptID]place{}
		for id, a := range r.rows.attempts {
			if a.State.Live() {
				at[id] = place{host: a.Host, kind: a.Kind}
			}
		}
		return at
	}
	before := live()
	said := r.say("advance 12s")
	if after := live(); !maps.Equal(before, after) {
		rt.Fatalf("nothing happened, and yet:\n%sthere were %v\nthere are %v\n%s", said, before, after, r.say("jobs"))
	}
	atRest(rt, w)
}

// atRest holds a farm on which nothing has happened for a while to the rules of such a one. With budgets it may move
// again, as usage leaves their periods and what runs is counted on.
func atRest(rt *rapid.T, w *policyWatch) {
	nothingIdles(rt, w.r)
	primariesFirst(rt, w.r)
	w.idleYields(rt)
	w.equalShares(rt)
	w.budgetsBar(rt)
}

// allowed says that some host may run an instance of the job and has what it takes.
func allowed(r *rig, j *facts.JobView) bool {
	slots, need := 1, max(j.Memory.Requested, j.Memory.LargestPeak)
	if strings.Contains(j.Reservations, "host.processors=2") {
		slots = 2
	}
	for name, w := range r.workers {
		offers := w.mem.shared.total
		if w.mem.cap > 0 {
			offers = min(offers, w.mem.cap)
		}
		if w.slots >= slots && offers >= need && mayRunOn(r, j, name) {
			return true
		}
	}
	return false
}

// nothingIdles wants of a farm at rest that no job waits which a free slot would serve, where nothing but
// slots and memory is asked for: what waits for two slots at once may have a host kept free for it.
func nothingIdles(rt *rapid.T, r *rig) {
	view := r.farm.View(r.now)
	var waiting []*facts.JobView
	for _, j := range view.Jobs {
		if j.State == facts.Active && j.Items.Pending > 0 {
			if strings.Contains(j.Reservations, "host.processors=2") || strings.Contains(j.Reservations, "license") {
				return
			}
			if j.Primary+j.Secondary+j.Draining < j.MaxCPUsEffective && !barred(j) {
				waiting = append(waiting, j)
			}
		}
	}
	for _, j := range waiting {
		for _, h := range view.Hosts {
			idle := int64(h.Slots - h.Used)
			if h.State == "up" && idle > 0 && h.PerIdle*idle > j.Memory.Need && h.Memory >= max(j.Memory.Requested, j.Memory.Need) && mayRunOn(r, j, h.ID) &&
				!meantFor(r, j, h) {
				rt.Fatalf("job %d waits (%s) beside a free slot of %s:\n%s%s", j.ID, j.Reason, h.ID, r.say("jobs"), r.say("hosts"))
			}
		}
	}
}

// meantFor says that the plan gives the room to starts that wait there for the end of an instance that leaves, and
// leaves none beside them to one more of the job: it would have to end before those can start.
func meantFor(r *rig, j *facts.JobView, h *message.HostView) bool {
	slots, memory, ending := h.Slots-h.Used, h.Available-h.Promised, false
	for _, i := range h.Instances {
		if i.State != "active" {
			slots, memory, ending = slots+i.Slots, memory+i.Memory, true
		}
	}
	s := r.farm.Snapshot(r.now)
	starts := planner.Balance(s).Starts
	for _, start := range starts {
		if job := &s.Jobs[start.Job]; s.Hosts[start.Host].Name == string(h.ID) && job.Num != int64(j.ID) {
			slots, memory = slots-job.Slots, memory-job.Memory
		}
	}
	if limitMeantFor(r, s, starts, j) {
		return true
	}
	takes := j.Memory.Need
	if takes == 0 {
		takes = h.PerIdle
	}
	return ending && (slots < 1 || memory < takes)
}

// limitMeantFor says that the plan gives what is left of a limit of the job to starts of others, while instances leave
// for which some of those wait.
func limitMeantFor(r *rig, s planner.Snapshot, starts []planner.PlannedStart, j *facts.JobView) bool {
	if !slices.ContainsFunc(r.farm.View(r.now).Jobs, func(o *facts.JobView) bool { return o.Draining > 0 }) {
		return false
	}
	left := maps.Clone(s.Limits)
	take := func(job int) {
		for name, n := range s.Jobs[job].Takes {
			left[name] -= n
		}
	}
	for _, i := range s.Running {
		take(i.Job)
	}
	for _, start := range starts {
		take(start.Job)
	}
	n := slices.IndexFunc(s.Jobs, func(o planner.SnapJob) bool { return o.Num == int64(j.ID) })
	for name := range s.Jobs[n].Takes {
		if _, limit := s.Limits[name]; limit && left[name] < 1 {
			return true
		}
	}
	return false
}

// primariesFirst wants of a farm at rest that no job lacks a primary beside another's secondary whose slot and
// memory would serve it, unless that one's item was preempted so often that it ends first. What asks for two slots or
// for a licence may keep hosts free, and is not looked at.
func primariesFirst(rt *rapid.T, r *rig) {
	if r.policy.Share.Preempt == "disabled" {
		return
	}
	view, stays := r.farm.View(r.now), map[string]bool{}
	for _, i := range r.farm.Snapshot(r.now).Running {
		stays[i.ID] = i.Protected
	}
	for _, j := range view.Jobs {
		if strings.Contains(j.Reservations, "host.processors=2") || strings.Contains(j.Reservations, "license") || j.Draining > 0 {
			return // what leaves is on its way to whom it is for
		}
	}
	for _, j := range view.Jobs {
		if j.State != facts.Active || j.Items.Pending == 0 || j.Primary >= j.CPUs || barred(j) {
			continue
		}
		for _, h := range view.Hosts {
			if h.Promised > h.Available {
				continue // it is sold out beyond what one of them would give back
			}
			for _, i := range h.Instances {
				if h.State == "up" && i.Job != j.ID && i.Kind == facts.Secondary && i.State == "active" && !stays[fmt.Sprintf("%d.%d", i.Job, i.Number)] &&
					i.Memory >= max(1, j.Memory.Need, j.Memory.Requested) && mayRunOn(r, j, h.ID) {
					rt.Fatalf("job %d lacks a primary (%s) beside a secondary of job %d on %s:\n%s%s", j.ID, j.Reason, i.Job, h.ID, r.say("jobs"), r.say("hosts"))
				}
			}
		}
	}
}

// mayRunOn says that the job's lists allow the host.
func mayRunOn(r *rig, j *facts.JobView, host facts.HostID) bool {
	return (len(j.Hosts) == 0 || slices.Contains(j.Hosts, string(host))) &&
		(len(j.Groups) == 0 || slices.Contains(r.workers[host].groups, j.Groups[0]))
}
