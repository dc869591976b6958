package explain

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"qb/supervisor/job/facts"
)

// holderLines bounds how many holders an explanation lists one by one.
const holderLines = 20

// namedHolders is how many jobs a sentence names before it says that there are several.
const namedHolders = 3

// Hold is how an instance holds its slots, as far as it matters to one who waits for them.
type Hold int

// How instances hold their slots. Protected ones are not stopped for others.
const (
	Primary Hold = iota
	ProtectedPrimary
	Secondary
	ProtectedSecondary
	Ending
	holdKinds
)

var holdWords = [holdKinds]string{"primaries", "protected primaries", "secondaries", "protected secondaries",
	"instances that are leaving"}

// holdSum counts slots, and the jobs that hold them, by kind.
type holdSum struct{ slots, jobs [holdKinds]int }

func (s holdSum) total() int {
	n := 0
	for _, slots := range s.slots {
		n += slots
	}
	return n
}

func (s holdSum) holds() *Holds {
	return &Holds{s.slots[Primary] + s.slots[ProtectedPrimary], s.slots[Secondary] + s.slots[ProtectedSecondary],
		s.slots[Ending]}
}

// holders are the jobs that hold slots of some hosts, best rank first. The sum at n is over those
// before the n-th, so that ten thousand jobs that wait can each say in a few steps what is in their way.
type holders struct {
	jobs []*Job
	sums []holdSum
}

func compareHolders(a, b *Job) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.ID, b.ID))
}

// holders are the jobs that hold slots of the hosts that serve the job.
func (w one) holders() holders {
	if w.g.holders == nil {
		all := w.holdersOn(w.g.fitting)
		w.g.holders = &all
	}
	return *w.g.holders
}

// sorted are the jobs, best rank first.
func (x *Explainer) sorted(ids iter.Seq[facts.JobID]) (jobs []*Job) {
	for id := range ids {
		jobs = append(jobs, x.job(id))
	}
	slices.SortFunc(jobs, compareHolders)
	return jobs
}

// holdersOn sums up what runs on the hosts.
func (x *Explainer) holdersOn(hosts []*Host) holders {
	held := map[facts.JobID]*holdSum{}
	for _, h := range hosts {
		for n := range h.Instances {
			i := &h.Instances[n]
			if i.Slots == 0 {
				continue // it is suspended, and others may have them
			}
			sum := held[i.Job]
			if sum == nil {
				sum = &holdSum{}
				held[i.Job] = sum
			}
			sum.slots[i.Hold] += i.Slots
		}
	}
	all := holders{jobs: x.sorted(maps.Keys(held))}
	all.sums = make([]holdSum, len(all.jobs)+1)
	for n, j := range all.jobs {
		next := all.sums[n]
		for k, slots := range held[j.ID].slots {
			next.slots[k] += slots
			if slots > 0 {
				next.jobs[k]++
			}
		}
		all.sums[n+1] = next
	}
	return all
}

// at is what the n-th holder has.
func (a holders) at(n int) holdSum {
	sum := a.sums[n+1]
	for k := range sum.slots {
		sum.slots[k] -= a.sums[n].slots[k]
		sum.jobs[k] -= a.sums[n].jobs[k]
	}
	return sum
}

// of is what the job itself has.
func (a holders) of(j *Job) (sum holdSum, found bool) {
	n, found := slices.BinarySearchFunc(a.jobs, j, compareHolders)
	if found {
		sum = a.at(n)
	}
	return sum, found
}

// before is the number of holders of a rank better than the given one.
func (a holders) before(rank int) int {
	return sort.Search(len(a.jobs), func(n int) bool { return a.jobs[n].rank() >= rank })
}

// text says for a job that waits who holds the slots: "60 by primaries of job 31 at better priority"; alone is the last
// of them without the number.
func (a holders) text(j *Job) (parts []string, alone string) {
	better, worse, word := a.before(j.rank()), a.before(j.rank()+1), "priority"
	if j.Ranked != nil {
		word = "rank"
	}
	own, mine := slices.BinarySearchFunc(a.jobs, j, compareHolders)
	if !mine {
		own = -1
	}
	every := len(a.jobs)
	add := func(from, to int, at string, kinds ...Hold) {
		slots := 0
		for _, k := range kinds {
			slots += a.sums[to].slots[k] - a.sums[from].slots[k]
			if from <= own && own < to {
				slots -= a.at(own).slots[k]
			}
		}
		if slots > 0 {
			whose := a.whose(from, to, own, kinds)
			words := fmt.Sprintf("%s of %s%s", holdWords[kinds[0]], whose, at)
			if kinds[0] == Ending {
				words = fmt.Sprintf("instances of %s that are leaving", whose)
			}
			parts, alone = append(parts, fmt.Sprintf("%d by %s", slots, words)), "by "+words
		}
	}
	add(0, better, " at better "+word, Primary, ProtectedPrimary)
	add(better, worse, " at equal "+word, Primary, ProtectedPrimary)
	add(worse, every, " at worse "+word, Primary)
	add(worse, every, " at worse "+word, ProtectedPrimary)
	add(0, every, "", Secondary)
	add(0, every, "", ProtectedSecondary)
	add(0, every, "", Ending)
	if mine {
		parts, alone = append(parts, fmt.Sprintf("%d by this job", a.at(own).total())), "by this job"
	}
	return parts, alone
}

// whose names the jobs that hold slots so, if they are few.
func (a holders) whose(from, to, own int, kinds []Hold) string {
	var found []string
	for n := from; n < to && len(found) <= namedHolders; n++ {
		// The next that holds any is where the sum of them grows.
		n += sort.Search(to-n, func(d int) bool { return a.countHolding(n, n+d+1, kinds) > 0 })
		if n < to && n != own {
			found = append(found, fmt.Sprint(a.jobs[n].ID))
		}
	}
	switch {
	case len(found) == 1:
		return "job " + found[0]
	case len(found) <= namedHolders:
		return "jobs " + strings.Join(found[:len(found)-1], ", ") + " and " + found[len(found)-1]
	}
	return "several jobs"
}

func (a holders) countHolding(from, to int, kinds []Hold) int {
	n := 0
	for _, k := range kinds {
		n += a.sums[to].jobs[k] - a.sums[from].jobs[k]
	}
	return n
}

// lines tell of each holder what it has, those with the most first.
func (a holders) lines(j *Job) []Fact {
	order := make([]int, len(a.jobs))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(a.at(y).total(), a.at(x).total()) })
	var lines []Fact
	rest := 0
	for _, n := range order {
		other, sum := a.jobs[n], a.at(n)
		if len(lines) == holderLines {
			rest += sum.total()
			continue
		}
		var kinds []string
		for k, slots := range sum.slots {
			if slots > 0 {
				kinds = append(kinds, fmt.Sprintf("%d by %s", slots, holdWords[k]))
			}
		}
		lines = append(lines, Fact{
			Kind: "holder", Jobs: []facts.JobID{other.ID}, Slots: sum.total(), Holds: sum.holds(),
			Text: fmt.Sprintf("job %d (%s) holds %d of the slots that fit: %s", other.ID, priorityBeside(j, other), sum.total(),
				strings.Join(kinds, ", ")),
		})
	}
	if rest > 0 {
		lines = append(lines, Fact{Kind: "holder", Text: fmt.Sprintf("%d more jobs hold %d", len(order)-holderLines, rest),
			Slots: rest})
	}
	return lines
}

// rank is where a job is beside those of others, the least first: by its priority, or by what goes before
// priorities.
func (j *Job) rank() int {
	switch {
	case j.Ranked == nil:
		return j.Standing()
	case j.Elite():
		return math.MinInt
	}
	return 1000*j.Ranked.Operator - j.Ranked.Factor
}

// rankBeside is how another job's rank is to the waiting job's, where fairshare ranks owners.
func rankBeside(j, other *Job) string {
	switch x, y := j.Ranked, other.Ranked; {
	case y.Operator != 0 && y.Operator < x.Operator:
		return fmt.Sprintf("put before it by an operator: priority %d", other.OperatorPriority)
	case y.Operator < x.Operator:
		return fmt.Sprintf("the waiting job was put behind it by an operator: priority %d", j.OperatorPriority)
	case x.Operator != 0 && x.Operator < y.Operator:
		return fmt.Sprintf("the waiting job was put before it by an operator: priority %d", j.OperatorPriority)
	case x.Operator < y.Operator:
		return fmt.Sprintf("put behind it by an operator: priority %d", other.OperatorPriority)
	case y.Factor > x.Factor:
		return fmt.Sprintf("better fairshare, %s has %.2f", other.User, float64(y.Factor)/100)
	case y.Factor < x.Factor:
		return fmt.Sprintf("worse fairshare, %s has %.2f", other.User, float64(y.Factor)/100)
	case other.User != j.User:
		return "equal fairshare, of " + other.User
	}
	return fmt.Sprintf("of %s too, priority %d", other.User, other.Priority)
}

// priorityBeside is how another job's priority is to the waiting job's.
func priorityBeside(j, other *Job) string {
	switch {
	case j == other:
		return "this job"
	case other.Elite() && !j.Elite():
		return "elite"
	case j.Ranked != nil && !j.Elite():
		return rankBeside(j, other)
	case other.Standing() < j.Standing():
		return fmt.Sprintf("better priority, %d", other.Priority)
	case other.Standing() > j.Standing():
		return fmt.Sprintf("worse priority, %d", other.Priority)
	}
	return fmt.Sprintf("equal priority, %d", other.Priority)
}
