package metrics

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"qb/supervisor/farm/accounting"
	"qb/supervisor/job/facts"
)

// However many users there are, the metrics tell of a thousand places, those with the best ranks.
func TestShareMetricsAreBounded(t *testing.T) {
	c := &shareCollector{func() []accounting.OwnerShare {
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
