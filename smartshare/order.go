package smartshare

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Term is one component of the dispatch order.
type Term uint8

// The terms. ByAge is the order of submission, ByTie the caller's own last word (a rank of ids).
const (
	ByPriority Term = iota
	ByCluster
	ByFairshare
	ByVTime
	ByAge
	ByTie
	ByPoints
	ByOperator // what operators have set
	ByOwn      // the priorities that owners gave, which order the jobs of each owner alone
	terms
)

var termNames = [terms]string{"priority", "cluster", "fairshare", "vtime", "age", "id", "multifactor", "operator",
	"own_priority"}

// The orders that a site chooses from by name.
var (
	PriorityOrder    = []Term{ByPriority, ByCluster, ByFairshare, ByVTime, ByAge, ByTie}
	ClusterOrder     = []Term{ByCluster, ByPriority, ByFairshare, ByVTime, ByAge, ByTie}
	MultifactorOrder = []Term{ByPoints, ByCluster, ByVTime, ByAge, ByTie}
)

// ParseTerm knows the names of the terms.
func ParseTerm(name string) (Term, bool) {
	for t, n := range termNames {
		if n == name {
			return Term(t), true
		}
	}
	return 0, false
}

func (t Term) String() string { return termNames[t] }

// Key is what the dispatch order knows of a job. Smaller goes first, except for Fairshare and Points, where the
// larger does. Tie must differ between any two jobs.
type Key struct {
	Priority  int
	Distance  int     // of its cluster
	Fairshare float64 // factor in [0,1]; compared in buckets of 0.01
	VTime     float64 // virtual time of its contender, seconds
	Submit    int64
	Tie       int
	Points    float64 // of the multifactor order
	Operator  int     // what operators have set: below 0 before, above 0 behind all for which it is 0
	Owner     int     // number of the owner, for own_priority
}

// FairshareBucket is the hundredth in which a factor lies, so that noise does not order jobs.
func FairshareBucket(factor float64) int {
	return int(math.Floor(factor*100 + 1e-9))
}

// Compare orders two keys by the terms given and then, whatever those are, by Tie: a strict total order. With
// own_priority among the terms it says which of two jobs goes first if there is no third, and only Order orders more of
// them.
func Compare(a, b Key, by []Term) int {
	for _, t := range by {
		if t == ByOwn && a.Owner == b.Owner {
			t = ByPriority
		}
		if c := cmp.Compare(a.word(t), b.word(t)); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.Tie, b.Tie)
}

// word is what the key has for the term, as a number that is smaller for who goes first.
func (k *Key) word(t Term) uint64 {
	switch t {
	case ByPriority:
		return orderedInt(int64(k.Priority))
	case ByCluster:
		return orderedInt(int64(k.Distance))
	case ByFairshare:
		return ^orderedInt(int64(FairshareBucket(k.Fairshare)))
	case ByVTime:
		return ordered(k.VTime)
	case ByAge:
		return orderedInt(k.Submit)
	case ByPoints:
		return ^ordered(k.Points)
	case ByOperator:
		return orderedInt(int64(k.Operator))
	case ByOwn:
		return 0 // see shareOwn
	}
	return orderedInt(int64(k.Tie))
}

// Order returns the indices of the keys, first to be served first. The scratch, or nil, is for its work; the answer is
// new.
func Order(s *Scratch, keys []Key, by []Term) []int {
	list, room := Lend[Keyed](s, len(keys)), Lend[Keyed](s, len(keys))
	for i := range list {
		list[i].Place = i
	}
	for n := len(by); n >= 0; n-- {
		// the last word first: each of the others keeps, among its equals, the order that it finds
		term := ByTie
		if n < len(by) {
			term = by[n]
		}
		for i := range list {
			list[i].Key = keys[list[i].Place].word(term)
		}
		RadixSort(list, room)
	}
	order := make([]int, len(keys))
	for place := range list {
		order[place] = list[place].Place
	}
	if n := slices.Index(by, ByOwn); n >= 0 {
		shareOwn(keys, order, by[:n], list, room)
	}
	return order
}

// Ranks inverts an order: the place of each index in it.
func Ranks(order []int) []int {
	ranks := make([]int, len(order))
	for place, i := range order {
		ranks[i] = place
	}
	return ranks
}

// ClusterSteps counts the steps from the job's cluster up to the common ancestor and down to the other.
func ClusterSteps(job, host string) int {
	return bestCluster(job, host, func(j, h []string) int {
		shared := commonDepth(j, h)
		return len(j) - shared + len(h) - shared
	}, 0)
}

// ClusterRank is Qube's rank of a job's cluster on a host of another: 1 the same, 2 below it, and one more
// for each level up to the common ancestor. "/a+" ranks 1 on every host in or below /a; of a comma list
// the best entry counts.
func ClusterRank(job, host string) int {
	return bestCluster(job, host, func(j, h []string) int {
		shared := commonDepth(j, h)
		if shared == len(h) && shared == len(j) {
			return 1
		}
		return 2 + len(h) - shared
	}, 1)
}

// bestCluster takes the least distance over the entries of the job's list.
func bestCluster(job, host string, distance func(j, h []string) int, same int) int {
	h := clusterPath(host)
	best := -1
	for entry := range strings.SplitSeq(job, ",") {
		path, below := strings.CutSuffix(strings.TrimSpace(entry), "+")
		j := clusterPath(path)
		d := distance(j, h)
		if below && commonDepth(j, h) == len(j) {
			d = same
		}
		if best < 0 || d < best {
			best = d
		}
	}
	return best
}

func clusterPath(cluster string) []string {
	return strings.FieldsFunc(cluster, func(r rune) bool { return r == '/' })
}

func commonDepth(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
