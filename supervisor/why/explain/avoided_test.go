package explain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/why/explain"
)

// TestAvoided: whatever keeps which hosts from a job for a while, the job's facts count exactly the ones that would
// serve it otherwise, and its reason names them as soon as only they have free slots. Hosts that do not fit for good
// are not counted.
func TestAvoided(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		row := facts.JobFacts{User: "ann", Cwd: "/proj"}
		states := make([]string, rapid.IntRange(1, 6).Draw(rt, "hosts"))
		for n := range states {
			states[n] = "up"
		}
		f := farmOf(t, row, states...)
		until := f.Now.Add(10 * time.Minute)
		serving, free, freeAvoided := 0, false, false
		var kept []facts.HostID
		avoids := map[facts.HostID]fit.Refuses{}
		for n := range f.Hosts {
			h := &f.Hosts[n]
			how := rapid.SampledFrom([]string{"serves", "passed", "user", "job", "folder"}).Draw(rt, "how")
			no := fit.Refuses{Until: until, Failed: rapid.IntRange(0, 3).Draw(rt, "failed")}
			if how == "passed" {
				no.Until = f.Now
			}
			switch how {
			case "user":
				h.Refuses = map[string]fit.Refuses{"ann": no}
			case "passed", "job":
				avoids[h.ID] = no
			case "folder":
				h.Lacks.Note(f.Now, fit.Lack{Folder: "/proj"})
			}
			if rapid.Bool().Draw(rt, "taken") {
				h.Free, h.Used = 0, 1
				h.Instances = []explain.Instance{{Job: 2, Slots: 1}}
			}
			fits := !rapid.Bool().Draw(rt, "omitted")
			if !fits {
				f.Jobs[0].OmitHosts = append(f.Jobs[0].OmitHosts, string(h.ID))
			}
			switch {
			case !fits:
			case how == "serves" || how == "passed":
				serving++
				free = free || h.Free > 0
			default:
				kept = append(kept, h.ID)
				freeAvoided = freeAvoided || h.Free > 0
			}
		}
		f.Jobs[0].Avoids = avoids
		other := f.Jobs[0]
		row2 := *other.JobFacts
		row2.ID, row2.User = 2, "bea"
		other.JobFacts = &row2
		f.Jobs = append(f.Jobs, other)
		e, _ := explain.New(f).Explain(1, "")
		var told []facts.HostID
		slots := 0
		for _, fact := range e.Facts {
			if fact.Kind == "avoided" {
				told = append(told, fact.Hosts...)
				slots += fact.Slots
			}
		}
		if !slices.Equal(told, kept) || slots != len(kept) {
			rt.Fatalf("avoided are %v, told are %v with %d slots", kept, told, slots)
		}
		lead := fmt.Sprintf("%d of %s: ", len(kept), facts.Several(serving+len(kept), "slot"))
		named := strings.HasPrefix(e.Cause, lead) && strings.Contains(e.Cause, string(append(kept, "")[0])) && strings.Contains(e.Cause, "until 13:56 UTC, ")
		if only := serving > 0 && !free && freeAvoided; only != (e.Reason == facts.ReasonHostsAvoided) || only && !named {
			rt.Fatalf("%d serve, one of them free: %v; avoided %v, one of them free: %v; the reason is %s: %s", serving, free, kept, freeAvoided, e.Reason, e.Cause)
		}
	})
}
