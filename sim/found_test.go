package sim

import (
	"testing"
	"time"
)

// What many seeds found wrong, each in a world that shows it again whatever other seeds come to mean.

// simOnceWrong are seeds that failed once, and why.
var simOnceWrong = map[uint64]string{
	4520: "the model held a host to be silent for as long as the leader's process was stopped",
	1699: "a new term forgot how a part of a submission that runs again had ended before",
	783:  "an item of a suspended job started as others of it had been resumed by themselves",
	500:  "the model of a shim whose folder was wiped kept an item that was suspended before it began",
	133:  "a job over a budget of the kind idle began an item beyond another, for which it waits",
	346:  "the next agent started an attempt again whose loss its former one had told without a record, on a full disk", 11865: "likewise", 13376: "likewise",
	5298: "a host whose clock is slow computes for longer than its lost item is charged for", 17224: "likewise", 18136: "likewise",
	12822: "likewise an item that was killed when its host had fallen silent",
	9505:  "after a restore a host came so late that its items were not waited for, which the rows did not know", 17103: "likewise", 17422: "likewise",
	4923:  "a job whose link the last commit had no room to take out was held against one that a new term frees at once",
	10474: "a late copy of a removed host's word brought the host back",
	7768:  "the model held the slots of a host under its new name against the machine that had that name before it was removed",
	17936: "the model did not know that what a machine had run ends under the new name of its host", 18154: "likewise",
	14194: "the model of a term that listens after a restore looked at its hosts less often than a supervisor does",
	11630: "the model of a link wrote a record that no agent knew of, long after the attempt, when a disk had room again",
	1037:  "a host that came over to a copy of the database late was waited for as if it had come when it was first heard",
	600:   "of two agents that claimed a silent host's name one got it, and at once the other as well",
	3451:  "an agent took the memory that an item had before the host slept off what others use, twice",
	3986:  "an item whose attempt a restore ended counted as preempted by the plan",
	4257:  "a host was closed to the owner all of whose items had failed there, and had a free slot",
	4036:  "a host that was answered in vain, lost its name to another machine and had it again was given items before it heard", 4755: "likewise",
	5785: "a job was killed and retried in one commit, and those who waited for its end were freed", 7309: "likewise, by a requeue",
	6718:  "a job waited on beside a free slot when others gave their memory back there, for a host without a free GPU had memory enough",
	8390:  "a worker whose state folder was wiped and that had another name was held to one part of the memory with the host it had been",
	14249: "a retry of an ended job that had nothing to retry took a condition out of the job, and not out of its row",
	17532: "a host that was short of memory let a suspended item go on to stop it",
	8803:  "what was migrated under a new leader, which had heard no other host yet, began on the same host again", 14083: "likewise",
	8868:  "an end that counted late was held to be the work of an order in the same commit",
	7022:  "an order that lets items run again took the mark of one away before its piece came, and another job's item began",
	14227: "an instance that was sent away while suspended was not held to make its job wider",
	10090: "before two looks in a row an item gave memory back unheard, and what others use was told too low",
	2335:  "a job from which something was migrated went back, as the other host was left in the same way",
	4567:  "an instance that took its next item was held to begin before a better job, which may not stop it",
	7082:  "a profile was forgotten in the commit of an end that had taught it",
	7147:  "instances that leave for new ones left in the next commit of a plan", 8483: "likewise",
	15341: "a job waited for items that an order of the last term had not come to yet",
	11470: "an item of a silent host that was resumed after its lease counted as without its slots for longer than it had them",
	6686:  "the answer to a greeting did not list an item that was stopped meanwhile, and the worker forgot that it was done",
	9212:  "the memory of a program that stays loaded counted as that of others from the end of each item on", 9224: "likewise",
	19616: "an item that waited before it was tried again was missed among those that wait for others",
	13831: "an order was held to stop what the plan had stopped in the same commit",
	18333: "what a suspended item computes to end, when nobody hears of it, is not charged",
	15589: "a licence reported used once more, by a copy of the call that came late, was so for ever",
	49777: "of two terms after a restore no host heard the first, and the second did not know that the number which hosts obeyed was given again", 52097: "likewise",
	3651: "the time for which an item had stood still lost a nanosecond as it was resumed, its row's seconds being cut off", 4366: "likewise",
	2531:  "a late copy of a word that had claimed a host's name claimed it once more, when the host had been removed and had come back",
	4558:  "an item was killed as it stood still without its slots, and its instance took the next one beside those who had them",
	33:    "an order to interrupt a job went on in the next term with what had begun after it",
	15671: "the items of three jobs run one after another, for there is one GPU only", 16779: "likewise",
}

func TestSimSeedsOnceWrong(t *testing.T) {
	for seed, why := range simOnceWrong {
		if w := simulate(seed, nil); w.failure != "" {
			t.Errorf("%s\nseed %d: %s (once wrong: %s)", w.story(), seed, w.failure, why)
		}
	}
}

// TestSlowClockIsCharged: hosts whose clocks are as slow as they may be fall silent as soon as they have begun a long item,
// and compute until their own lease ends, which is later than by the farm's clock; what is lost so is charged to the
// end of the farm's, and the books' check knows the difference.
func TestSlowClockIsCharged(t *testing.T) {
	lost := 0
	for seed := uint64(1); seed <= simScripts; seed++ {
		w := newWorldOf(seed)
		w.faults = simFaults{lasts: simScriptEnds}
		for _, h := range w.hosts {
			h.rate = 0.995
		}
		var strike func()
		strike = func() {
			for _, h := range w.hosts {
				for _, shim := range h.everyShim() {
					if it := shim.item; it != nil && it.running && w.now-it.began < 2*time.Millisecond && it.remaining > w.policy.ExecutionLease {
						split(w, h, simScriptEnds-10*time.Second-w.now)
						return
					}
				}
			}
			w.after(time.Millisecond, strike)
		}
		strike()
		if w.live(); w.failure != "" {
			t.Fatalf("%s\nseed %d: %s", w.story(), seed, w.failure)
		}
		lost += w.reached["a charge to the end of a lease"]
	}
	if lost == 0 {
		t.Error("no attempt was charged to the end of its lease")
	}
	h := simHost{rate: 0.995}
	if lag := h.lag(20 * time.Second); lag < 100*time.Millisecond || lag > 101*time.Millisecond {
		t.Errorf("a clock that runs at 0.995 lags %s in 20 s", lag)
	}
	h.rate = 1.005
	if lag := h.lag(20 * time.Second); lag != 0 {
		t.Errorf("a clock that is fast lags %s", lag)
	}
}
