package planner

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// workMargin is how far the work of any balance is below its bound.
const workMargin = 10

// TestWorkIsFarBelowItsBound: the bound ends what goes on for ever, and is never met by a farm that there can be.
func TestWorkIsFarBelowItsBound(t *testing.T) {
	var scratch smartshare.Scratch
	most := 0.0
	spent := func(s Snapshot) float64 {
		BalanceIn(&scratch, s)
		return float64(scratch.Spent()) / float64(scratch.Most())
	}
	for _, st := range styles {
		eachFarm(t, st, func(f *checked) {
			most = max(most, spent(f.s))
			if most > 1.0/workMargin {
				f.fail("%d steps of %d", scratch.Spent(), scratch.Most())
			}
		})
	}
	t.Logf("random farms: at most %.5f of the bound", most)
	for _, size := range []struct {
		name                        string
		jobs, hosts, slots, classes int
		unlike                      bool
	}{
		{"pool", 2_000, 1, 20_000, 0, false}, {"hosts", 2_000, 1_250, 16, 0, false}, {"classes", 500, 625, 16, 50, false}, {"more classes", 2_000, 2_000, 16, 50, false},
		{"memory", 200, 625, 16, 0, true}, {"memory in classes", 100, 200, 16, 20, true}, {"one job", 1, 1_000, 64, 0, false},
	} {
		s := benchFarm(size.jobs, size.hosts, size.slots, size.classes)
		d := dice(3)
		for h := range s.Hosts {
			s.Hosts[h].Memory = 64 << 30
		}
		for j := range s.Jobs {
			if size.unlike {
				s.Jobs[j].Memory, s.Jobs[j].Slots = int64(d.roll(1, 12))<<30, d.roll(1, 4)
			}
		}
		settled := applied(s, Balance(s))
		half := without(settled, func(j int) bool { return j%2 == 1 })
		for _, now := range []Snapshot{s, settled, half} {
			part := spent(now)
			t.Logf("%s: %d steps of %d, %.5f", size.name, scratch.Spent(), scratch.Most(), part)
			if part > 1.0/workMargin {
				t.Errorf("%s: %d steps of %d", size.name, scratch.Spent(), scratch.Most())
			}
		}
	}
}

// spoil puts values into a farm that validation excludes.
func spoil(d *dice, s *Snapshot) {
	numbers := []int{0, -1, -7, math.MinInt, math.MaxInt, 1 << 31, 1 << 40, 1 << 62}
	number := func() int { return numbers[d.roll(0, len(numbers)-1)] }
	real := func() float64 {
		return []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, math.MaxFloat64}[d.roll(0, 5)]
	}
	for range d.roll(1, 3) {
		j, h := &s.Jobs[d.roll(0, len(s.Jobs)-1)], &s.Hosts[d.roll(0, len(s.Hosts)-1)]
		switch d.roll(0, 16) {
		case 0:
			j.CPUs = number()
		case 1:
			width := number()
			j.MaxCPUs = &width
		case 2:
			j.Slots = number()
		case 3:
			j.Memory = int64(number())
		case 4:
			j.Weight = real()
		case 5:
			j.VTime = real()
		case 6:
			j.Points, j.Fairshare = real(), real()
		case 7:
			j.Remaining = number()
		case 8:
			j.Eligible = []int{number(), 0, 0}
		case 9:
			j.Takes = map[string]int64{"host.gpus": int64(number()), "nuke": int64(number())}
		case 10:
			h.Slots = number()
		case 11:
			h.Memory, h.EndingMemory = int64(number()), int64(number())
		case 12:
			h.Ending = number()
		case 13:
			h.Resources = map[string]int64{"host.gpus": int64(number())}
		case 14:
			s.Policy.MaxCPUsLimit, s.Policy.DefaultMaxCPUs = number(), number()
		case 15:
			s.Limits, s.Resources = map[string]int64{"nuke": int64(number())}, map[string]int64{"nuke": int64(number())}
		case 16:
			if len(s.Running) > 0 {
				r := &s.Running[d.roll(0, len(s.Running)-1)]
				r.Memory, r.LostWork, r.Host = int64(number()), real(), number()
			}
		}
	}
}

// TestNoValueKeepsABalanceGoing: whatever the values, a balance ends, within its bound and without asking for more memory than that, by
// a plan or by a panic that the caller is prepared for.
func TestNoValueKeepsABalanceGoing(t *testing.T) {
	ends := map[string]int{}
	var scratch smartshare.Scratch
	for n, st := range styles {
		d := dice(uint64(n))
		for range farmsPerProperty(t) / 10 {
			s := drawFarm(&d, st)
			spoil(&d, &s)
			began := time.Now()
			how := func() (how string) {
				defer func() {
					switch recover().(type) {
					case nil:
					case *Fault:
						how = "fault"
					case smartshare.WorkError:
						how = "work"
					default:
						how = "panic"
					}
				}()
				BalanceIn(&scratch, s)
				return "plan"
			}()
			ends[how]++
			if took := time.Since(began); took > 20*time.Second {
				text, _ := json.Marshal(s.Policy)
				t.Fatalf("%s after %s, policy %s", how, took, text)
			}
		}
	}
	t.Log(ends)
	if ends["fault"] == 0 || ends["plan"] == 0 {
		t.Errorf("the values reach too little: %v", ends)
	}
}

// TestFaultsNameTheJob: a value that no job can have is the fault of that job.
func TestFaultsNameTheJob(t *testing.T) {
	good := func() Snapshot {
		s := benchFarm(3, 2, 4, 0)
		s.Running = []SnapInstance{{ID: "1.0", Job: 1, Host: 0, Kind: facts.Primary}}
		return s
	}
	for what, spoiled := range map[string]func(s *Snapshot) (job int){
		"cpus -1 is out of bounds":                                            func(s *Snapshot) int { s.Jobs[2].CPUs = -1; return 2 },
		"cpus 2147483648 is out of bounds":                                    func(s *Snapshot) int { s.Jobs[2].CPUs = 1 << 31; return 2 },
		"slots -2 is out of bounds":                                           func(s *Snapshot) int { s.Jobs[0].Slots = -2; return 0 },
		"weight NaN is out of bounds":                                         func(s *Snapshot) int { s.Jobs[0].Weight = math.NaN(); return 0 },
		"virtual time +Inf is out of bounds":                                  func(s *Snapshot) int { s.Jobs[1].VTime = math.Inf(1); return 1 },
		"eligible host 9 is out of bounds":                                    func(s *Snapshot) int { s.Jobs[1].Eligible = []int{9}; return 1 },
		"nuke -1 is out of bounds":                                            func(s *Snapshot) int { s.Jobs[1].Takes = map[string]int64{"nuke": -1}; return 1 },
		"instance 1.0: job 1, host 5, kind 0, memory 0: one is out of bounds": func(s *Snapshot) int { s.Running[0].Host = 5; return 1 },
		"host h00001: slots -4 is out of bounds":                              func(s *Snapshot) int { s.Hosts[1].Slots = -4; return -1 },
	} {
		s := good()
		Balance(s)
		job := spoiled(&s)
		func() {
			defer func() {
				f, is := recover().(*Fault)
				if !is || f.Job != job || f.Error() != what {
					t.Errorf("want the fault of job %d, %q, got %+v", job, what, f)
				}
			}()
			Balance(s)
		}()
	}
}
