package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"qb/supervisor/farm/message"
)

var (
	memoryGauge = prometheus.NewDesc("qb_memory_bytes",
		"Memory of hosts that are up or locked: offered, and promised to running attempts.", []string{"what"}, nil)
	slowCounter = prometheus.NewDesc("qb_slow_items_total",
		"Items of this term that ran supervisor_time_factor times longer than the longest of their job.", nil, nil)
	overCounter = prometheus.NewDesc("qb_overused_items_total",
		"Items of this term that used at least 1.5 times the processor time of their slots.", nil, nil)
	outCounter = prometheus.NewDesc("qb_out_of_memory_total", "Items of this term that ran out of memory.", nil, nil)
)

func collectMemory(to chan<- prometheus.Metric, view *message.View) {
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
