package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"qb/agenda"
	"qb/api"
)

// lately is for how long a job that has ended stays in the table.
const lately = 24 * time.Hour

// shownSince is when a job must have ended at the earliest for the table to show it unless -all asks for every one.
func shownSince(now time.Time) time.Time { return now.Add(-lately) }

// mostCounted is up to how many jobs a supervisor counts.
const mostCounted = 10_000

// shownText says how many jobs the table shows if it leaves some out, or that there is none; "" if there is nothing to
// say. The user is "" for everybody's jobs, and states are the ones that were asked for.
func shownText(shown, total int, user string, states []string) string {
	whose, others, all := "", "", agenda.Grouped(total)
	if total == mostCounted {
		all += " or more"
	}
	if user != "" {
		whose, others = " of "+user, "; -user all shows everybody's"
	}
	switch {
	case total == 0:
		return strings.Join(slices.DeleteFunc([]string{"no", strings.Join(states, " or "), "jobs"},
			func(s string) bool { return s == "" }), " ") + whose + others
	case shown == 0:
		return fmt.Sprintf("none of the %s jobs%s is unfinished or ended within a day; -all shows them", all, whose)
	case shown < total:
		return fmt.Sprintf("showing %s of %s; -all", agenda.Grouped(shown), all)
	}
	return ""
}

// totalOfJobs is what jobs run of what they ask for, in the words of the first line of Qube's listing.
func totalOfJobs(jobs []api.Job) []string {
	instances, cpus, running, items := 0, 0, 0, 0
	for _, j := range jobs {
		instances += j.Instances.Primary + j.Instances.Secondary
		cpus += j.CPUs
		running += j.Items.Running
		items += j.Items.Total
	}
	return []string{fmt.Sprintf("%d/%d cpu(s)", instances, cpus), fmt.Sprintf("%d/%d work", running, items)}
}

// jobReason is why a job waits or has failed, else which attempts at its items failed though the items did not.
func jobReason(j api.Job) string {
	switch again := j.FailedAttempts - j.Items.Failed; {
	case j.Reason != "" || again <= 0:
		return j.Reason
	case again == 1:
		return fmt.Sprintf("1 attempt failed, its item was tried again; qbitems %d", j.ID)
	default:
		return fmt.Sprintf("%d attempts failed, their items were tried again; qbitems %d", again, j.ID)
	}
}

// itemReason is why an item waits or ended so, and how it failed before.
func itemReason(i api.Item) string {
	f := i.FailedBefore
	if f == nil {
		return i.Reason
	}
	times := ""
	if f.Attempts > 1 {
		times = fmt.Sprintf(" %d times, last", f.Attempts)
	}
	before := fmt.Sprintf("failed before%s on %s: %s", times, f.Host, f.Reason)
	if i.Reason == "" || i.Reason == f.Reason {
		return before
	}
	return i.Reason + "; " + before
}
