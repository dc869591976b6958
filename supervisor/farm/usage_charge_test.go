package farm_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/supervisor/farm/accounting"
	"qb/supervisor/job/facts"
)

// Work on slower hosts costs less; scratch counts as its part of the farm's, and memory as what was seen at
// most, where that is more than was reserved.
func TestChargeBySpeedScratchAndPeak(t *testing.T) {
	for spec, want := range map[string]float64{"8": 80, "4": 40, "0.5": 5, "0": 10, "-3": 10} {
		r := fairRig(t, func(*accounting.Policy) {})
		r.say("host a slots=1 spec=" + spec)
		r.say("submit one user=ada items=1 max=0")
		r.say("finish 1")
		near(t, "cpu at speed "+spec, r.share("ada").Usage.CPU, want)
	}
	r := fairRig(t, func(*accounting.Policy) {})
	r.say("host a slots=8 mem=64 resources=scratch:419430400 spec=2")
	r.say("host b slots=8 mem=64 resources=scratch:104857600")
	r.say("submit one user=ada items=1 max=0 reservations=host.processors=2,host.memory=16GB,host.scratch=200MB")
	r.say("finish 1 peak=32")
	o := r.share("ada")
	near(t, "cpu", o.Usage.CPU, 2*10*2)
	near(t, "scratch", o.Usage.Scratch, 2*10*16*200.0/500)
	near(t, "ram by the peak", o.Usage.RAM, 2*10*16*32.0/128)
	near(t, "gpu", o.Usage.GPU, 0)
	r = fairRig(t, func(p *accounting.Policy) { p.PE = "max" })
	r.say("host a slots=8 mem=64 resources=scratch:419430400 spec=2")
	r.say("submit one user=ada items=1 max=0 reservations=host.processors=2,host.memory=16GB,host.scratch=200MB")
	r.say("finish 1")
	o = r.share("ada")
	near(t, "scratch is the scarcest", o.Usage.Scratch, 2*10*8*200.0/400)
	near(t, "and all", o.Usage.Total(), o.Usage.Scratch)
}

// Charged are an item's own seconds, whatever the farm's clock does meanwhile; and a jump changes no sum.
func TestClockThatJumpsChargesNothing(t *testing.T) {
	for _, jump := range []time.Duration{-time.Hour, time.Hour, 24 * time.Hour, -24 * time.Hour} {
		r := fairRig(t, func(p *accounting.Policy) { p.HalfLife = 0 })
		r.say("policy lease=1000h")
		r.say("host a slots=2")
		r.say("submit one user=ada items=1-4 max=0")
		r.say("finish 1")
		before := r.now
		r.now = r.now.Add(jump)
		r.say("finish 1")
		r.say("interrupt 1")
		near(t, fmt.Sprintf("after %v", jump), r.share("ada").Usage.CPU, 20)
		for id, a := range r.rows.attempts {
			if a.EndedAt.Before(a.StartedAt) && a.Charge.CPU < 0 {
				t.Errorf("%v: %+v", id, a)
			}
		}
		r.now = before
		r.say("finish 1")
		r.say("crash")
		near(t, fmt.Sprintf("back from %v", jump), r.share("ada").Usage.CPU, 30)
	}
	// With decay: a jump forward that nothing is charged in, and back, leaves the sum as it was.
	r := fairRig(t, func(*accounting.Policy) {})
	r.say("host a slots=1")
	r.say("submit one user=ada items=1-2 max=0")
	r.say("finish 1")
	was := r.share("ada").Usage
	r.now = r.now.Add(240 * time.Hour)
	if r.share("ada").Usage.CPU >= was.CPU {
		t.Error("nothing decays")
	}
	r.now = r.now.Add(-240 * time.Hour)
	if got := r.share("ada").Usage; got != was {
		t.Errorf("%+v became %+v", was, got)
	}
	r.now = r.now.Add(-240 * time.Hour)
	if got := r.share("ada").Usage; got != was {
		t.Errorf("before its time %+v became %+v", was, got)
	}
}

// A week of an item each hour decays as the formula says, to twelve digits, through rows and takeovers.
func TestAWeekOfTheFarmDecaysToTwelveDigits(t *testing.T) {
	half := 416340 * time.Second
	r := fairRig(t, func(p *accounting.Policy) { p.HalfLife = half })
	r.say("policy lease=1000h")
	r.say("host a slots=1")
	r.say("submit one user=ada items=1-1000 max=0")
	began, want := r.now, 0.0
	for hour := range 168 {
		r.now = began.Add(time.Duration(hour) * time.Hour)
		r.say("finish 1")
		want += 10 * math.Exp2(-float64((168-hour)*3600)/half.Seconds())
		if hour%24 == 23 {
			r.say("crash")
		}
	}
	r.now = began.Add(168 * time.Hour)
	if got := r.share("ada").Usage.CPU; math.Abs(got/want-1) > 1e-12 {
		t.Errorf("after a week %.15g, the formula says %.15g", got, want)
	}
}

// A share of zero is last, not never: alone on the farm its work runs, and beside others after them.
func TestShareOfZeroIsLastNotNever(t *testing.T) {
	r := fairRig(t, func(*accounting.Policy) {})
	r.say("host a slots=1")
	r.say("share none 0")
	if out := r.say("submit one user=none items=1 max=0"); !strings.Contains(out, "start 1/1#1") {
		t.Errorf("alone it does not start:\n%s", out)
	}
	r.say("submit two user=none items=1 max=0")
	r.say("submit past user=heavy items=1 max=0")
	if out := r.say("finish 1"); !strings.Contains(out, "start 3/1#1") {
		t.Errorf("it goes before another:\n%s", out)
	}
	if out := r.say("finish 3"); !strings.Contains(out, "start 2/1#1") {
		t.Errorf("it never starts:\n%s", out)
	}
}

// A user who submits is in the tree at once, with the default share, and so is an account that was just added.
func TestUnknownUsersHaveTheDefaultShare(t *testing.T) {
	r := fairRig(t, func(*accounting.Policy) {})
	r.say("host a slots=4")
	r.say("share ada 3")
	r.say("account show")
	r.say("account show/shot users=newer")
	r.say("submit one user=new items=1 max=0")
	r.say("submit two user=newer account=show/shot items=1 max=0")
	for user, entitled := range map[string]float64{"ada": 0.6, "new": 0.2, "newer": 0.2} {
		o := r.share(user)
		near(t, user+" is entitled to", o.Entitled, entitled)
		if want := map[bool]float64{true: 3, false: 1}[user == "ada"]; o.Shares != want || o.Factor != 1 {
			t.Errorf("%+v", o)
		}
	}
}

// Whatever accounts are written, they are places in one tree: a path that comes back to a name is another place
// below it, so that there is no cycle, no one is counted twice, and all that is entitled adds up to one farm.
func TestAccountsAreATree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := fairRig(t, func(p *accounting.Policy) {
			p.Rule = rapid.SampledFrom([]string{"tree", "fair_tree"}).Draw(rt, "rule")
		})
		r.say("host a slots=4")
		name := func() string { return rapid.SampledFrom([]string{"a", "b", "show"}).Draw(rt, "name") }
		users := map[facts.Payer]bool{}
		for n := range rapid.IntRange(1, 8).Draw(rt, "jobs") {
			account := name()
			r.say("account " + account + " users=*")
			for range rapid.IntRange(0, 4).Draw(rt, "depth") {
				account += "/" + name()
				r.say("account " + account + " users=*")
			}
			p := facts.Payer{Account: account, Owner: name()}
			users[p] = true
			r.say(fmt.Sprintf("submit j%d user=%s account=%s items=1-2 max=0", n, p.Owner, p.Account))
			r.say(fmt.Sprintf("share %s/ %d", account, rapid.IntRange(0, 3).Draw(rt, "shares")))
		}
		entitled, received, owners := 0.0, 0.0, r.farm.Shares(r.now).Owners
		for _, o := range owners {
			entitled, received = entitled+o.Entitled, received+o.Received
			if !(o.Factor >= 0 && o.Factor <= 1) || o.Shares != 1 {
				rt.Fatalf("%+v", o)
			}
		}
		if len(owners) != len(users) || entitled > 1+1e-9 || received > 1+1e-9 {
			rt.Fatalf("%d places of %d users, %v entitled, %v received", len(owners), len(users), entitled, received)
		}
	})
}

// The account changes while nothing was used; then it stays, so that the ledger's rows have one payer.
func TestAccountIsChangedBeforeUse(t *testing.T) {
	r := fairRig(t, func(*accounting.Policy) {})
	r.say("account show users=ada")
	r.say("account test")
	r.say("account test/shot users=ada")
	r.say("submit one user=ada account=show items=1-2 max=0")
	if out := r.say("modify 1 account=test/shot"); !strings.Contains(out, "job 1") || r.rows.jobs[1].Account != "test/shot" {
		t.Errorf("%s%+v", out, r.rows.jobs[1])
	}
	r.say("host a slots=1")
	for _, when := range []string{"while it runs", "after an end", "after a takeover"} {
		if out := r.say("modify 1 account=show"); !strings.Contains(out, "refused (conflict)") || !strings.Contains(out, "submit the remaining items") {
			t.Errorf("%s: %s", when, out)
		}
		if out := r.say("modify 1 account=test/shot cpus=2"); strings.Contains(out, "refused") {
			t.Errorf("%s the same account is refused: %s", when, out)
		}
		if when == "while it runs" {
			r.say("finish 1/1")
		} else {
			r.say("crash")
		}
	}
	if o := r.share("ada"); o.Account != "test/shot" || o.Usage.CPU != 10 {
		t.Errorf("%+v", o)
	}
}

// What is suspended is charged for the memory that it keeps, and for its slots unless others might have them: by its
// worker's report, and by the farm's own clock where no report says how long it ran. What is charged for what runs
// follows the same.
func TestReleasedSlotsAreNotCharged(t *testing.T) {
	for slots, want := range map[string]float64{"keep": 2 * 70, "release": 2 * 10} {
		r := fairRig(t, func(p *accounting.Policy) { p.HalfLife = 0 })
		r.say("policy lease=1000h suspend=" + slots)
		r.say("host a slots=8 mem=64")
		r.say("submit one user=ada items=1-2 max=0 reservations=host.processors=2,host.memory=16GB")
		r.say("suspend 1")
		r.say("advance 60s")
		near(t, slots+": cpu of what runs", r.share("ada").Running.CPU, map[string]float64{"keep": 2 * 60, "release": 0}[slots])
		r.say("resume 1")
		w := r.workers["a"]
		id := w.running[0]
		w.end(id, "exit", 0, "", 10)
		w.finished[0].Suspended = 60
		r.settle()
		near(t, slots+": cpu", r.share("ada").Usage.CPU, want)
		near(t, slots+": ram", r.share("ada").Usage.RAM, 70*8*16.0/64)
		if a := r.rows.attempts[id]; a.Released != map[string]float64{"keep": 0, "release": 60}[slots] || a.Suspended != 60 {
			t.Errorf("%s: suspended for %v s, released for %v s", slots, a.Suspended, a.Released)
		}
		r.say("suspend 1")
		r.say("advance 60s")
		r.say("kill 1") // of the other item no worker tells how long it ran
		near(t, slots+": cpu with what was killed", r.share("ada").Usage.CPU, want+map[string]float64{"keep": 2 * 60, "release": 0}[slots])
		near(t, slots+": ram with what was killed", r.share("ada").Usage.RAM, (70+60)*8*16.0/64)
	}
}
