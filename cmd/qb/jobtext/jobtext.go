package jobtext

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"qb/api"
)

// lately is for how long a job that has ended stays in the table.
const lately = 24 * time.Hour

// finished are the states of jobs that have ended.
var finished = []string{"complete", "failed", "killed"}

// Recent says whether the table shows a job unless -all asks for every one: it has not ended, or did so within a day.
func Recent(j *api.Job, now time.Time) bool {
	return !slices.Contains(finished, j.Status) || j.FinishedAt == nil || now.Sub(*j.FinishedAt) < lately
}

// Shown says how many jobs the table shows if it leaves some out, or that there is none; "" if there is nothing to say.
// The user is "" for everybody's jobs, and states are those that were asked for.
func Shown(shown, total int, user string, states []string) string {
	whose, others := "", ""
	if user != "" {
		whose, others = " of "+user, "; -user all shows everybody's"
	}
	switch {
	case total == 0:
		return strings.Join(slices.DeleteFunc([]string{"no", strings.Join(states, " or "), "jobs"}, func(s string) bool { return s == "" }), " ") + whose + others
	case shown == 0:
		return fmt.Sprintf("none of the %s jobs%s is unfinished or ended within a day; -all shows them", Count(total), whose)
	case shown < total:
		return fmt.Sprintf("showing %s of %s; -all", Count(shown), Count(total))
	}
	return ""
}

// Count writes a number with commas between thousands.
func Count(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// needs is what a job, or its items, must be for an action to change something.
var needs = map[string]string{
	"kill":      "an unfinished job",
	"retry":     "failed or killed items (qbredo runs complete ones again)",
	"requeue":   "failed or killed items",
	"redo":      "ended items",
	"block":     "an unfinished job that is not blocked",
	"unblock":   "a blocked job or blocked items",
	"interrupt": "running items",
	"preempt":   "running items",
	"modify":    "an unfinished job",
}

// Needs is what the action needs; "" for one that is not known.
func Needs(action string) string { return needs[action] }

// Unaffected says why an action did not change a job, or those of its items that the word names.
func Unaffected(action, word string, j *api.Job) string {
	text := fmt.Sprintf("job %d is %s; %s needs %s", j.ID, j.Status, action, needs[action])
	if n := j.Instances; n.Draining > 0 && n.Primary+n.Secondary == 0 {
		text = fmt.Sprintf("job %d is being stopped already; %s changes nothing more", j.ID, action)
	}
	if strings.Contains(word, ":") {
		text = word + ": " + text
	}
	return text
}
