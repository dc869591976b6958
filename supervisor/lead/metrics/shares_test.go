package metrics

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"qb/supervisor/farm/accounting"
	"qb/supervisor/job/facts"
)

// However often metrics are read, the farm adds its shares up every ten seconds at most.
func TestSharesAreAskedForSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := &shareCollector{owners: func() []accounting.OwnerShare {
			asked++
			return []accounting.OwnerShare{{Rank: asked}}
		}}
		for _, tc := range []struct {
			rest time.Duration
			rank int
		}{{0, 1}, {9 * time.Second, 1}, {time.Second, 2}, {9 * time.Second, 2}, {2 * time.Second, 3}} {
			time.Sleep(tc.rest)
			if got := c.latest(time.Now()); len(got) != 1 || got[0].Rank != tc.rank {
				t.Errorf("%s later: %+v, want the answer %d", tc.rest, got, tc.rank)
			}
		}
	})
}

// A farm that takes long over its shares, as a large one may that is busy, delays the first scrape alone: the others
// tell the answer before, and do not ask again while a question is open.
func TestScrapesDoNotWaitForShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		c := &shareCollector{owners: func() []accounting.OwnerShare {
			rank := int(asked.Add(1))
			time.Sleep(25 * time.Second)
			return []accounting.OwnerShare{{Rank: rank}}
		}}
		for _, tc := range []struct {
			rest, waits time.Duration
			rank, asked int
		}{
			{0, 25 * time.Second, 1, 1},
			{0, sharesWait, 1, 2},
			{15 * time.Second, sharesWait, 1, 2},
			{15 * time.Second, 0, 2, 2},
			{15 * time.Second, sharesWait, 2, 3},
		} {
			time.Sleep(tc.rest)
			began := time.Now()
			got := c.latest(began)
			if waited := time.Since(began); waited != tc.waits || int(asked.Load()) != tc.asked || got[0].Rank != tc.rank {
				t.Errorf("%s later: the answer %d after %s, asked %d times; want the answer %d after %s, asked %d times", tc.rest,
					got[0].Rank, waited, asked.Load(), tc.rank, tc.waits, tc.asked)
			}
		}
		time.Sleep(time.Minute) // the open question is answered
	})
}

// However many users there are, the metrics tell of a thousand places, those with the best ranks.
func TestShareMetricsAreBounded(t *testing.T) {
	c := &shareCollector{owners: func() []accounting.OwnerShare {
		owners := make([]accounting.OwnerShare, 1500)
		for n := range owners {
			owners[n] = accounting.OwnerShare{Payer: facts.Payer{Owner: fmt.Sprint("u", n)}, Rank: n + 1}
		}
		return owners
	}}
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil || len(families) != len(shareGauges)+1 {
		t.Fatalf("%d families: %v", len(families), err)
	}
	for _, f := range families {
		want := maxShareSeries
		if f.GetName() == "qb_share_usage_cpu_seconds" {
			want *= 4
		}
		if len(f.GetMetric()) != want {
			t.Errorf("%s has %d series, want %d", f.GetName(), len(f.GetMetric()), want)
		}
	}
}
