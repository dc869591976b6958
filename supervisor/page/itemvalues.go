package page

import (
	"cmp"
	"math"
	"slices"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/translate"
)

// What counts as an outlier, and when a host is blamed for it.
const (
	outliersMost = 100
	fewest       = 8   // with fewer complete items there are no outliers
	atLeast      = 2.0 // times the median
	spreads      = 5.0 // median distances from the median, of logarithms
	others       = 3   // items that the host must have completed besides
	slowHost     = 1.5 // times the median that these others take
)

// Column gathers the values of a job's items.
type Column struct {
	of     string
	values []float64 // by number of the item; 0: none
	hosts  []string
	index  map[facts.HostID]int
	done   []itemSample
}

// itemSample is the value of a complete item.
type itemSample struct {
	item  facts.ItemNo
	host  facts.HostID
	value float64
}

// Values have three digits, as more are not seen and take more bytes. Spread and outliers are of complete items alone:
// how long a failed item took does not tell how long the work takes.

// NewColumn is a column of seconds, memory, attempts or host, for this many items.
func NewColumn(of string, items int) *Column {
	return &Column{of: of, values: make([]float64, items), hosts: []string{}, index: map[facts.HostID]int{}}
}

// Add takes in the latest attempt of an item.
func (c *Column) Add(a *facts.AttemptFacts) {
	if int(a.Item) >= len(c.values) {
		return
	}
	status := translate.StatusOf(*a)
	switch {
	case c.of == "attempts":
		c.put(a, float64(a.Number))
	case status == "": // the item runs again
	case c.of == "host":
		if c.index[a.Host] == 0 {
			c.hosts = append(c.hosts, string(a.Host))
			c.index[a.Host] = len(c.hosts)
		}
		c.values[a.Item] = float64(c.index[a.Host])
	case status == "running":
	case c.of == "seconds":
		c.put(a, rounded(a.Wall))
	case c.of == "memory":
		c.put(a, rounded(float64(a.Peak)/(1<<20)))
	}
}

func (c *Column) put(a *facts.AttemptFacts, value float64) {
	c.values[a.Item] = value
	if a.State == facts.Done && value > 0 {
		c.done = append(c.done, itemSample{a.Item, a.Host, value})
	}
}

// rounded has three digits, at most two of them behind the point.
func rounded(v float64) float64 {
	if v <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-2)
	return max(0.01, math.Round(math.Round(v/max(unit, 0.01))*max(unit, 0.01)*100)/100)
}

// Reply is the column with its spread and outliers; name tells the name of an item.
func (c *Column) Reply(job, version int64, name func(facts.ItemNo) string) api.ItemValuesReply {
	last := len(c.values)
	for last > 0 && c.values[last-1] == 0 {
		last--
	}
	r := api.ItemValuesReply{Job: job, Version: version, Of: c.of, Values: c.values[:last], Hosts: c.hosts,
		Outliers: []api.ItemOutlier{}}
	slices.SortFunc(c.done, func(a, b itemSample) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.item, b.item))
	})
	if len(c.done) == 0 {
		return r
	}
	at := func(q float64) float64 { return c.done[int(q*float64(len(c.done)-1))].value }
	r.Spread = &api.ItemSpread{Count: len(c.done), Least: at(0), P10: at(0.1), Median: at(0.5), P90: at(0.9), Most: at(1)}
	if c.of == "attempts" {
		return r
	}
	limit := c.limit(r.Spread.Median)
	byHost := map[facts.HostID][]float64{}
	for _, s := range c.done {
		byHost[s.host] = append(byHost[s.host], s.value)
	}
	for _, s := range slices.Backward(c.done) {
		if s.value <= limit {
			break
		}
		if r.OutliersAll++; len(r.Outliers) < outliersMost {
			out := api.ItemOutlier{Item: name(s.item), Number: int(s.item), Host: string(s.host), Value: s.value,
				Times: rounded(s.value / r.Spread.Median)}
			out.Fault, out.OthersMedian = fault(byHost[s.host], s.value, r.Spread.Median)
			r.Outliers = append(r.Outliers, out)
		}
	}
	return r
}

// limit returns the value above which an item is an outlier. It compares logarithms, as otherwise the longest items
// would hide all others.
func (c *Column) limit(median float64) float64 {
	if len(c.done) < fewest {
		return math.Inf(1)
	}
	far := make([]float64, len(c.done))
	for n, s := range c.done {
		far[n] = math.Abs(math.Log(s.value / median))
	}
	slices.Sort(far)
	return median * max(atLeast, math.Exp(spreads*far[len(far)/2]))
}

// fault says whether an outlier is its host's, by what the host's other items took: all are sorted values of the host,
// and that of the outlier is one of them.
func fault(all []float64, value, median float64) (string, float64) {
	if len(all) <= others {
		return "unknown", 0
	}
	at, _ := slices.BinarySearch(all, value)
	middle := (len(all) - 1) / 2 // of all without it
	if middle >= at {
		middle++
	}
	if all[middle] >= slowHost*median {
		return "host", all[middle]
	}
	return "item", all[middle]
}
