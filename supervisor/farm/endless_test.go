package farm_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/supervisor/job/facts"
)

// repeated says for each reason why an attempt ends by itself how a host brings it about: a verb of the rig, or the
// outcome of a report. "" means a report that gives the reason as its code.
var repeated = map[facts.Reason]string{
	facts.ReasonExit: "exit", facts.ReasonSignal: "signal", facts.ReasonLaunchFailed: "launch", facts.ReasonTimeLimit: "timeout",
	facts.ReasonPreflight: "launch", facts.ReasonAgendaPreflight: "launch", facts.ReasonPostflight: "launch", facts.ReasonOutputMissing: "launch", facts.ReasonLogError: "launch", facts.ReasonNoReport: "launch",
	facts.ReasonNoLicence: "exit", facts.ReasonOutOfMemory: "memory", facts.ReasonMemoryLimit: "memory", facts.ReasonMemoryUnavailable: "full",
	facts.ReasonHostMemoryLow: "stopped", facts.ReasonHostSwapping: "stopped", facts.ReasonHostInUse: "stopped", facts.ReasonWorkerStopped: "stopped", facts.ReasonNotWanted: "stopped",
	facts.ReasonHostRefused: "refused", facts.ReasonUIDDiffers: "refused", facts.ReasonFolderMissing: "refused", facts.ReasonFolderDenied: "refused",
	facts.ReasonEnvironment:   "exit",
	facts.ReasonLogUnwritable: "log", facts.ReasonNoRecord: "lost", facts.ReasonUnknownOutcome: "evaporated", facts.ReasonHostRestarted: "reboot",
}

// slowly are the reasons that cannot come at once, or that are no end of a try that could be repeated.
var slowly = map[facts.Reason]string{
	facts.ReasonHostSilent: "the lease is over first", facts.ReasonHostDeaf: "the lease is over first", facts.ReasonConfirmedDead: "a person says so each time",
	facts.ReasonLogIncomplete: "the item is done", facts.ReasonProcessesLeft: "the item is done",
	facts.ReasonHandedBack: "it has not begun",
}

// TestNoItemIsTriedForEver: however an item ends again and again on the only host of a farm, there are few tries in an
// hour, also with a change of leader after each. A reason that this test does not know has no bound.
func TestNoItemIsTriedForEver(t *testing.T) {
	for _, reason := range endReasons(t) {
		outcome, known := repeated[reason]
		if slowly[reason] != "" {
			continue
		}
		if !known {
			t.Errorf("no way is known to end an item with %s: add one, and what bounds its tries", reason)
			continue
		}
		if reason.Bound() == 0 {
			t.Errorf("%s has no bound in facts", reason)
		}
		t.Run(string(reason), func(t *testing.T) {
			for _, crash := range []bool{false, true} {
				tries, held := triesInAnHour(t, reason, outcome, crash)
				if tries < 1 || tries > 40 {
					t.Errorf("an item that ends by %s was tried %d times in an hour (a new term each time: %v)", reason, tries, crash)
				}
				if reason.Strange() && (tries != 3 || !held) {
					t.Errorf("an item that ends by %s was tried %d times, held: %v (a new term each time: %v)", reason, tries, held, crash)
				}
			}
		})
	}
}

// endReasons are the codes of attempts that ended by themselves.
func endReasons(t *testing.T) (reasons []facts.Reason) {
	code, err := os.ReadFile("../job/facts/reasons.go")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(code), "// Why an attempt ended that no one stopped.\n")
	block, _, whole := strings.Cut(block, "\n)\n")
	for _, m := range regexp.MustCompile(`(?m)^\tReason\w+ +Reason = "(\w+)"`).FindAllStringSubmatch(block, -1) {
		reasons = append(reasons, facts.Reason(m[1]))
	}
	if !found || !whole || len(reasons) < len(repeated)+len(slowly) {
		t.Fatalf("found %d reasons", len(reasons))
	}
	return reasons
}

func triesInAnHour(t *testing.T, reason facts.Reason, outcome string, crash bool) (tries int, held bool) {
	r := newRig(t)
	r.say("policy resources=license.nuke:4")
	r.say("host a slots=1 mem=8")
	flags := ""
	if reason == facts.ReasonMemoryLimit {
		flags = " flags=memory_hard_limit"
	}
	r.say("submit endless max=0 cpus=1 items=1 retrywork=3 cwd=/nowhere reservations=host.memory=1GB,license.nuke=1" + flags)
	a := r.workers["a"]
	for began := r.now; r.now.Sub(began) < time.Hour; {
		for _, id := range slices.Clone(a.running) {
			tries++
			if outcome == "reboot" {
				r.say("reboot a")
				continue
			}
			a.end(id, outcome, 1, "", 0)
			end := &a.finished[len(a.finished)-1]
			end.Code, end.Limit = reason, reason == facts.ReasonMemoryLimit
			if reason == facts.ReasonNoLicence {
				end.Resource = "license.nuke"
			}
			r.settle()
		}
		if crash && tries > 0 {
			r.say("crash")
		}
		r.say("advance 5s")
	}
	for _, e := range r.history {
		held = held || e.Type == "item-held"
	}
	for id, row := range r.rows.attempts {
		if !row.State.Live() && row.Reason != reason {
			t.Fatalf("attempt %v has ended by %q", id, row.Reason)
		}
	}
	return tries, held
}
