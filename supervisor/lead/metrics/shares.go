package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"qb/internal/guard"
	"qb/supervisor/farm/accounting"
)

// maxShareSeries limits the series of users per account; beyond it, only the best ranks have one.
const maxShareSeries = 1000

// shareCollector asks the live farm where its users stand; a standby has nothing to say.
type shareCollector struct {
	owners func() []accounting.OwnerShare

	mu     sync.Mutex
	asked  time.Time
	answer chan []accounting.OwnerShare // to the question that is open; nil: none is
	last   []accounting.OwnerShare
}

const (
	// sharesEvery is how old the answer may be. The farm adds up all that runs for one, and every scrape asks for it.
	sharesEvery = 10 * time.Second
	// sharesWait is for how long a scrape waits for a new answer. A large farm that is busy takes longer: the scrape then
	// tells the answer before, and the next scrape this one.
	sharesWait = 10 * time.Millisecond
)

func (c *shareCollector) latest(now time.Time) []accounting.OwnerShare {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.asked.IsZero()
	if c.answer == nil && now.Sub(c.asked) >= sharesEvery {
		c.asked = now
		c.answer = c.ask()
	}
	if c.answer == nil {
		return c.last
	}
	var late <-chan time.Time
	if !first { // there is no answer before the first
		late = time.After(sharesWait)
	}
	select {
	case c.last = <-c.answer:
		c.answer = nil
	case <-late:
	}
	return c.last
}

// ask asks beside the scrape. Of a panic there is no answer; the loop counts those of the farm.
func (c *shareCollector) ask() chan []accounting.OwnerShare {
	answer := make(chan []accounting.OwnerShare, 1)
	go func() {
		var owners []accounting.OwnerShare
		_ = guard.Once(func() error {
			owners = c.owners()
			return nil
		})
		answer <- owners
	}()
	return answer
}

// shareGauge is one number of a place.
type shareGauge struct {
	desc  *prometheus.Desc
	value func(o *accounting.OwnerShare) float64
}

func newShareGauge(name, help string, value func(o *accounting.OwnerShare) float64) shareGauge {
	return shareGauge{prometheus.NewDesc(name, help, []string{"user", "account"}, nil), value}
}

var (
	shareGauges = []shareGauge{
		newShareGauge("qb_share_rank", "Rank by fairshare factor, 1 is the first; at most 1000 ranks.",
			func(o *accounting.OwnerShare) float64 {
				return float64(o.Rank)
			}),
		newShareGauge("qb_share_factor", "Fairshare factor; 1: unused, 0.5: exactly the share.",
			func(o *accounting.OwnerShare) float64 {
				return o.Factor
			}),
		newShareGauge("qb_share_shares", "Effective shares, raised by credit.", func(o *accounting.OwnerShare) float64 {
			return o.Effective
		}),
		newShareGauge("qb_share_credit", "Credit, decayed to now.", func(o *accounting.OwnerShare) float64 {
			return o.Credit
		}),
		newShareGauge("qb_share_entitled_ratio", "Fraction of the farm by shares.", func(o *accounting.OwnerShare) float64 {
			return o.Entitled
		}),
		newShareGauge("qb_share_received_ratio", "Fraction of all counted usage.", func(o *accounting.OwnerShare) float64 {
			return o.Received
		}),
	}
	shareUsageGauge = prometheus.NewDesc("qb_share_usage_cpu_seconds",
		"Usage by resource in CPU-equivalent seconds, decayed to now, running attempts included.",
		[]string{"user", "account", "resource"}, nil)
)

// Describe sends nothing, as farmCollector does.
func (c *shareCollector) Describe(chan<- *prometheus.Desc) {}

func (c *shareCollector) Collect(to chan<- prometheus.Metric) {
	owners := c.latest(time.Now())
	for n := range owners[:min(len(owners), maxShareSeries)] {
		o := &owners[n]
		for _, g := range shareGauges {
			to <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.value(o), o.Owner, o.Account)
		}
		for resource, v := range map[string]float64{
			"cpu": o.Usage.CPU + o.Running.CPU, "ram": o.Usage.RAM + o.Running.RAM, "gpu": o.Usage.GPU + o.Running.GPU,
			"scratch": o.Usage.Scratch + o.Running.Scratch,
		} {
			to <- prometheus.MustNewConstMetric(shareUsageGauge, prometheus.GaugeValue, v, o.Owner, o.Account, resource)
		}
	}
}
