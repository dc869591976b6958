package farm_test

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// TestEveryWaitingItemHasATrueReason recomputes, from the view alone, what each reason claims.
func TestEveryWaitingItemHasATrueReason(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		hosts := rapid.IntRange(0, 4).Draw(rt, "hosts")
		for n := range hosts {
			r.say(fmt.Sprintf("host h%d slots=%d cluster=%s", n, rapid.IntRange(1, 4).Draw(rt, "slots"), rapid.SampledFrom([]string{"/", "/x", "/x/y"}).Draw(rt, "cluster")))
		}
		slots := map[facts.JobID]int{}
		for range rapid.IntRange(3, 25).Draw(rt, "steps") {
			if hosts > 0 && rapid.IntRange(0, 2).Draw(rt, "other") > 0 {
				randomStep(rt, r, hosts)
			} else {
				submitPicky(rt, r, slots)
			}
			r.say("advance 1s") // let a plan run
			v := r.farm.View(r.now)
			checkReasons(rt, r, v, slots)
			checkChanged(rt, r, v)
		}
	})
}

// checkChanged compares what is shown of single jobs and hosts with the view: it is the same, except that a reason
// which lies with the hosts is not known yet.
func checkChanged(rt *rapid.T, r *rig, v *message.View) {
	replies := []outbox.Reply{{Body: message.ActionReply{Job: 404}}, {Body: message.HostReply{Host: "h404"}}}
	for _, j := range v.Jobs {
		replies = append(replies, outbox.Reply{Body: message.JobReply{Job: facts.JobView{JobFacts: facts.JobFacts{ID: j.ID}}}})
	}
	for _, h := range v.Hosts {
		replies = append(replies, outbox.Reply{Body: message.HostReply{Host: h.ID}})
	}
	part, all := r.farm.Changed(r.now, replies)
	if all || len(part.Jobs) != len(v.Jobs)+1 || len(part.Hosts) != len(v.Hosts)+1 || part.Jobs[404] != nil || part.Hosts["h404"] != nil {
		rt.Fatalf("%+v has not the jobs and hosts of %+v", part, v)
	}
	for _, j := range v.Jobs {
		is := *part.Jobs[j.ID]
		if is.Reason != j.Reason && (j.Reason == "" || is.Code != facts.ReasonNotYetKnown) {
			rt.Fatalf("the reason of job %d is %q, and %q by itself", j.ID, j.Reason, is.Reason)
		}
		is.Reason, is.Code, is.Params = j.Reason, j.Code, j.Params
		if !reflect.DeepEqual(is, *j) {
			rt.Fatalf("job %d is %+v, and by itself %+v", j.ID, j, is)
		}
	}
	for _, h := range v.Hosts {
		if !reflect.DeepEqual(part.Hosts[h.ID], h) {
			rt.Fatalf("host %s is %+v, and by itself %+v", h.ID, h, *part.Hosts[h.ID])
		}
	}
}

func submitPicky(rt *rapid.T, r *rig, slots map[facts.JobID]int) {
	width, line := rapid.IntRange(1, 3).Draw(rt, "width"), "submit p items=1-5"
	line += fmt.Sprintf(" priority=%d", rapid.IntRange(1, 3).Draw(rt, "priority"))
	line += fmt.Sprintf(" cpus=%d max=%d reservations=host.processors=%d", rapid.IntRange(1, 3).Draw(rt, "cpus"), rapid.IntRange(-1, 4).Draw(rt, "max"), width)
	if rapid.Bool().Draw(rt, "listed") {
		line += " hosts=h0,h2"
	}
	if rapid.Bool().Draw(rt, "restricted") {
		line += " restrictions=" + rapid.SampledFrom([]string{"/x", "/x/*", "/_||_/x/+", "/z/+"}).Draw(rt, "restrictions")
	}
	r.say(line)
	slots[facts.JobID(len(r.rows.jobs))] = width
}

// mayRun says by hand what the two texts of submitPicky mean.
func mayRun(j *facts.JobView, h *message.HostView, width int) bool {
	inside := map[string][]string{"": {"/", "/x", "/x/y"}, "/x": {"/x"}, "/x/*": {"/x/y"}, "/ || /x/+": {"/", "/x/y"}}[j.Restrictions]
	return h.State == "up" && h.Slots >= width && slices.Contains(inside, h.Cluster) &&
		(len(j.Hosts) == 0 || slices.Contains(j.Hosts, string(h.ID)))
}

// wholeReason is the reason of a job, and after it what that has no place for.
func wholeReason(r *rig, j *facts.JobView) string {
	text := j.Reason
	if e, found := r.farm.Explain(r.now, j.ID); found {
		for _, f := range e.Facts {
			if f.Kind == "also" {
				text += "; " + f.Text
			}
		}
	}
	return text
}

func checkReasons(rt *rapid.T, r *rig, v *message.View, widths map[facts.JobID]int) {
	for _, j := range v.Jobs {
		whole := wholeReason(r, j)
		width := max(1, widths[j.ID])
		up, fit, total, free, room := 0, 0, 0, 0, 0
		for _, h := range v.Hosts {
			if h.State == "up" {
				up++
			}
			if mayRun(j, h, width) {
				fit, total, free, room = fit+1, total+h.Slots, free+h.Slots-h.Used, max(room, h.Slots-h.Used)
			}
		}
		says := func(part string) bool { return strings.Contains(whole, part) }
		ok := false
		switch {
		case len(strings.Fields(j.Reason)) > 25:
		case j.State == facts.FailedJob:
			ok = j.Code == facts.ReasonItemsFailed && says(fmt.Sprintf("%d of %d item", j.Items.Failed, j.Items.Total))
		case j.State == facts.Suspended:
			ok = j.Code == facts.ReasonSuspended && says("suspended by")
		case j.State == facts.Blocked:
			ok = says("blocked by") || says("waits for")
		case j.State.Final() || j.Items.Pending+j.Items.Blocked == 0:
			ok = j.Reason == ""
		case says("no worker is connected"):
			ok = len(v.Hosts) == 0
		case says("items are held"):
			ok = j.Items.Pending == 0 && j.Items.Blocked > 0
		case says("no host takes work now"):
			ok = up == 0
		case says("no host fits"), says("no host that takes work fits"), says("no host is called"), says("no host is in the group"):
			ok = up > 0 && fit == 0
		case says("of all hosts that take work now"):
			ok = free == 0 && fit == up && says(allSlots(total)) && rightHolders(v, j, widths, fmt.Sprintf("%d by this job", total))
		case says("of the hosts that fit"):
			ok = free == 0 && fit < up && says(allSlots(total)) && rightHolders(v, j, widths, fmt.Sprintf("%d by this job", total))
		case says("this job already has all it may have"):
			ok = j.Primary+j.Secondary >= j.MaxCPUsEffective ||
				says("leaving at the end of an item") && j.Primary+j.Secondary+j.Draining >= j.MaxCPUsEffective
		case says("is being freed for this job"), says("free slots that an instance takes"):
			ok = width > 1 && room < width && rightHolders(v, j, widths, whole)
		case says("are kept for job"):
			ok = free > 0
		case says("starts with the next plan"): // the rig has let every plan run: nothing is about to start
			ok = room >= width
		case says("this job may run"):
			ok = j.Primary+j.Secondary > j.MaxCPUsEffective
		case says("are taken"), says("is taken"):
			ok = free == 0 && (says(fmt.Sprintf("all %d slots", total)) || (total == 1 && says("the one slot"))) && rightHolders(v, j, widths, lastTaken(whole))
		}
		if !ok {
			rt.Fatalf("job %d (%s, %d+%d of %d, items %+v): %d hosts are up, %d fit with %d slots, %d free, at most %d at once; it says %q",
				j.ID, j.Status, j.Primary, j.Secondary, j.MaxCPUsEffective, j.Items, up, fit, total, free, room, j.Reason)
		}
	}
}

// allSlots is how a job that holds all slots says so.
func allSlots(total int) string {
	if total == 1 {
		return "this job already has the one slot "
	}
	return fmt.Sprintf("this job already has all %d slots ", total)
}

var holderText = regexp.MustCompile(`(\d+) by (?:(this job)|(?:protected )?(primaries|secondaries|instances) of (several jobs|job \d+|jobs \d+(?:, \d+)* and \d+)( that are leaving)?(?: at (better|equal|worse) priority)?)`)

// lastTaken is the text from where it says for the last time, and in full, who has all slots.
func lastTaken(text string) string { return text[max(0, strings.LastIndex(text, "that fit")):] }

// rightHolders counts by hand who holds the slots that fit the job, and compares with what the reason says.
func rightHolders(v *message.View, j *facts.JobView, widths map[facts.JobID]int, text string) bool {
	priority := map[facts.JobID]int{}
	for _, other := range v.Jobs {
		priority[other.ID] = other.Priority
	}
	slots, jobs := map[string]int{}, map[string]map[string]bool{}
	for _, h := range v.Hosts {
		for _, i := range h.Instances {
			if !mayRun(j, h, max(1, widths[j.ID])) {
				continue
			}
			how := "secondaries"
			switch {
			case i.Job == j.ID:
				how = "this job"
			case i.State != "active" && i.State != "suspended":
				how = "leaving"
			case i.Kind == facts.Primary:
				how = "primaries " + []string{"better", "equal", "worse"}[1+cmp.Compare(priority[i.Job], priority[j.ID])]
			}
			slots[how] += max(1, widths[i.Job])
			if jobs[how] == nil {
				jobs[how] = map[string]bool{}
			}
			jobs[how][fmt.Sprint(i.Job)] = true
		}
	}
	if len(slots) == 1 { // "all 4 slots that fit are taken by" someone
		text = strings.Replace(text, " taken by ", fmt.Sprintf(" taken %d by ", slots[slices.Collect(maps.Keys(slots))[0]]), 1)
	}
	for _, m := range holderText.FindAllStringSubmatch(text, -1) {
		how := strings.TrimSpace(m[3] + " " + m[6])
		switch {
		case m[2] != "":
			how = m[2]
		case m[5] != "":
			how = "leaving"
		}
		slots[how] -= number(m[1])
		for _, id := range regexp.MustCompile(`\d+`).FindAllString(m[4], -1) {
			if !jobs[how][id] {
				return false
			}
		}
		if m[4] == "several jobs" && len(jobs[how]) < 4 {
			return false
		}
	}
	for _, left := range slots {
		if left != 0 {
			return false
		}
	}
	return true
}

// TestAttackManyLinks: the reason of a job that waits for many others names some, and how many more there are.
func TestAttackManyLinks(t *testing.T) {
	r := newRig(t)
	var names []string
	for n := range 100 {
		r.say("submit parent items=1")
		names = append(names, fmt.Sprintf("link-complete-job-%d", n+1))
	}
	r.farm.Step(r.now, message.JobSubmitted{Ticket: 1, By: "u1", Facts: facts.JobFacts{User: "u1", Priority: 5, Cluster: "/", CPUs: 1, Command: []string{"x"}, Dependency: strings.Join(names, ",")}})
	r.farm.Take(r.now)
	for _, j := range r.farm.View(r.now).Jobs {
		if want := "waits for job 1 to be complete and for job 2 to be complete and for 98 more jobs"; j.ID == 101 && j.Reason != want {
			t.Errorf("%d bytes: %s", len(j.Reason), j.Reason)
		} else if j.ID == 101 {
			return
		}
	}
	t.Error("there is no such job")
}
