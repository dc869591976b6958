package metrics

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"qb/supervisor/farm/accounting"
	"qb/supervisor/job/facts"
)

// However often metrics are read, the farm adds its shares up every ten seconds at most.
func TestSharesAreAskedForSeldom(t *testing.T) {
	now, asked := time.Unix(1_000_000, 0), 0
	c := &shareCollector{owners: func() []accounting.OwnerShare {
		asked++
		return []accounting.OwnerShare{{Rank: asked}}
	}}
	for _, tc := range []struct {
		after time.Duration
		rank  int
	}{{0, 1}, {9 * time.Second, 1}, {10 * time.Second, 2}, {19 * time.Second, 2}, {21 * time.Second, 3}} {
		if got := c.latest(now.Add(tc.after)); len(got) != 1 || got[0].Rank != tc.rank {
			t.Errorf("after %s: %+v, want the answer %d", tc.after, got, tc.rank)
		}
	}
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
