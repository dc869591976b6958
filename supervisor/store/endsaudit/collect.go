package endsaudit

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
)

// Collection are the end records of workers as they come, a page at a time.
type Collection struct {
	Records  int  // and clock checks, so far
	Cut      bool // there were more than are retained
	most     int
	byHost   map[string]*workerEnds
	expected map[string]bool // hosts whose last page has not come
	hosts    int
}

// Collect begins a collection of the records of these hosts, of which at most so many are retained.
func Collect(hosts []string, most int) *Collection {
	c := &Collection{most: most, byHost: map[string]*workerEnds{}, expected: map[string]bool{}}
	for _, host := range hosts {
		c.expected[host] = true
	}
	c.hosts = len(c.expected)
	return c
}

// Add takes in a page.
func (c *Collection) Add(page *api.EndsPage) {
	w := c.byHost[page.Host]
	if w == nil {
		w = &workerEnds{host: page.Host}
		c.byHost[page.Host] = w
	}
	c.Records += len(page.Records) + len(page.Clocks)
	if w.add(page); w.last {
		delete(c.expected, page.Host)
	}
	c.Cut = c.Records > c.most && len(c.expected) > 0
}

// Over is whether nothing more is wanted.
func (c *Collection) Over() bool { return c.Cut || len(c.expected) == 0 }

// Missing are the hosts that have not answered in full, sorted.
func (c *Collection) Missing() []string { return slices.Sorted(maps.Keys(c.expected)) }

// Answered is how many workers have sent all.
func (c *Collection) Answered() (n int) {
	for _, w := range c.byHost {
		if w.last {
			n++
		}
	}
	return n
}

// Compare puts the records into the farm's time and compares them with each other. What ended before since is left out;
// zero: nothing is.
func (c *Collection) Compare(now, since time.Time) *Comparison {
	workers := slices.SortedFunc(maps.Values(c.byHost), func(x, y *workerEnds) int { return cmp.Compare(x.host, y.host) })
	a := newComparison(now, workers)
	if !since.IsZero() {
		a.runs = slices.DeleteFunc(a.runs, func(r ranRun) bool { return r.placed && r.to.Add(r.apart).Before(since) })
	}
	a.compareRuns()
	return a
}

// Runs is how many records there are, and how many of boots that were never compared with the farm's time.
func (a *Comparison) Runs() (all, unplaced int) {
	for _, run := range a.runs {
		if !run.placed {
			unplaced++
		}
	}
	return len(a.runs), unplaced
}

// Row compares what a row says with the records of its attempt.
func (a *Comparison) Row(r EndRow) { a.row(r) }

// maxUnseen is how many items are looked up one by one whose rows have not come.
const maxUnseen = 10_000

// Unseen are items of runs that no row has spoken of yet, whose rows are to be given to Unknown.
func (a *Comparison) Unseen() []facts.AttemptID { return a.unseen(maxUnseen) }

// Unknown compares the runs of which no row has spoken with all rows of their items.
func (a *Comparison) Unknown(rows []EndRow) { a.compareUnseen(rows) }

// Problems are what was found, at most 100 of each kind.
func (a *Comparison) Problems() []Problem { return a.problems }

// Counts is how many there are of each kind.
func (a *Comparison) Counts() map[string]int { return a.counts }
