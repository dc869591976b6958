package supervisor

import (
	"github.com/prometheus/client_golang/prometheus"

	"qb/supervisor/farm"
)

var (
	memoryGauge   = prometheus.NewDesc("qb_memory_bytes", "Memory of hosts that are up or locked: what they offer, and what live attempts were promised of it.", []string{"what"}, nil)
	slowCounter   = prometheus.NewDesc("qb_slow_items_total", "Items of this term that ran supervisor_time_factor times as long as their job's longest.", nil, nil)
	overCounter   = prometheus.NewDesc("qb_overused_items_total", "Items of this term that used half as much processor time again as their slots give.", nil, nil)
	outCounter    = prometheus.NewDesc("qb_out_of_memory_total", "Items of this term that were killed for want of memory.", nil, nil)
	memoryMetrics = []*prometheus.Desc{memoryGauge, slowCounter, overCounter, outCounter}
)

func collectMemory(to chan<- prometheus.Metric, view *farm.View) {
	offered, promised := 0.0, 0.0
	for _, h := range view.Hosts {
		if h.State == "up" || h.State == "locked" {
			offered += float64(h.Memory)
			promised += float64(h.Promised)
		}
	}
	to <- prometheus.MustNewConstMetric(memoryGauge, prometheus.GaugeValue, offered, "offered")
	to <- prometheus.MustNewConstMetric(memoryGauge, prometheus.GaugeValue, promised, "promised")
	to <- prometheus.MustNewConstMetric(slowCounter, prometheus.CounterValue, float64(view.Counts.Slow))
	to <- prometheus.MustNewConstMetric(overCounter, prometheus.CounterValue, float64(view.Counts.Overused))
	to <- prometheus.MustNewConstMetric(outCounter, prometheus.CounterValue, float64(view.Counts.OutOfMemory))
}
