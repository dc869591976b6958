package metrics

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"qb/api"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/selfaudit"
	"qb/supervisor/store/history"
	"qb/supervisor/store/mail"
)

// Metrics are kept in a registry of their own. Labels are bounded: states, kinds, endpoints, status codes.
type Metrics struct {
	Syncs    prometheus.Counter     // of workers
	Epoch    prometheus.Gauge       // of the term that is led, 0 for none
	TermEnds prometheus.Counter     // unexpected ones
	Panics   *prometheus.CounterVec // that ended no process, by where
	History  history.Metrics
	Mails    mail.Metrics
	Audits   selfaudit.Metrics

	registry *prometheus.Registry
	commits  prometheus.Counter
	seconds  prometheus.Histogram
	batches  prometheus.Histogram
	readOnly prometheus.Gauge
	requests *prometheus.CounterVec
	limited  *prometheus.CounterVec
}

// Sources are asked at each scrape.
type Sources struct {
	View    func() *message.View           // the last one; nil: there is none
	Totals  func(*message.View) api.Totals // of a view
	Owners  func() []accounting.OwnerShare // users by rank; none where this supervisor does not lead
	Lag     func() time.Duration           // for how long the oldest report of a worker has waited to be read
	Trouble func() string                  // why the database keeps the farm from changes, "" if it does not
	Limits  []string                       // names of all limits that can refuse a request
}

// New registers all metrics. Those of the farm come from the view, never from the database.
func New(from Sources) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		commits:  prometheus.NewCounter(prometheus.CounterOpts{Name: "qb_commits_total", Help: "Group commits made."}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "qb_commit_seconds",
			Help:                        "Duration of group commits.",
			Buckets:                     []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .25, .5, 1, 2, 4, 8},
			NativeHistogramBucketFactor: 1.2}),
		batches: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "qb_commit_writes",
			Help:    "Row changes in one group commit.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 9)}),
		Syncs: prometheus.NewCounter(prometheus.CounterOpts{Name: "qb_syncs_total", Help: "Syncs of workers processed."}),
		Epoch: prometheus.NewGauge(prometheus.GaugeOpts{Name: "qb_term_epoch",
			Help: "Number of the term this supervisor leads, 0 if it does not lead."}),
		TermEnds: prometheus.NewCounter(prometheus.CounterOpts{Name: "qb_term_ends_total",
			Help: "Terms that ended unexpectedly."}),
		Panics: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "qb_panics_total",
			Help: "Panics that the supervisor survived, by where: a step, which ends the term; a question or the view of the farm; work beside the loop."},
			[]string{"where"}),
		readOnly: prometheus.NewGauge(prometheus.GaugeOpts{Name: "qb_read_only",
			Help: "1 while this supervisor leads without writing, as the disk of the database is full."}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "qb_http_requests_total",
			Help: "Requests answered, by endpoint and status."}, []string{"endpoint", "code"}),
		limited: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "qb_limited_total",
			Help: "Requests refused for a limit, by its name."}, []string{"limit"}),
	}
	for _, name := range from.Limits {
		m.limited.WithLabelValues(name)
	}
	m.History = newHistoryMetrics(m.registry)
	m.Mails = newMailMetrics(m.registry)
	m.Audits = newAuditMetrics(m.registry)
	m.registry.MustRegister(m.limited, m.commits, m.seconds, m.batches, m.Syncs, m.Epoch, m.TermEnds, m.Panics, m.readOnly,
		m.requests,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&farmCollector{from.View, from.Totals}, &shareCollector{owners: from.Owners}, troubleGauge(from.Trouble),
		lagGauge(from.Lag))
	return m
}

// Handler serves all metrics as text.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 4})
}

// Committed counts a commit of so many row changes.
func (m *Metrics) Committed(writes int, took time.Duration) {
	m.commits.Inc()
	m.seconds.Observe(took.Seconds())
	m.batches.Observe(float64(writes))
}

// ReadOnly says whether the farm is read-only since the database has no room.
func (m *Metrics) ReadOnly(is bool) {
	m.readOnly.Set(flag(is))
}

// troubleGauge is 1 while the database keeps the farm from changes.
func troubleGauge(trouble func() string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "qb_database_trouble",
		Help: "1 while nothing can be changed because the database does not answer or its disk is full; qbping names the reason."},
		func() float64 {
			return flag(trouble() != "")
		})
}

func lagGauge(lag func() time.Duration) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "qb_lag_seconds",
		Help: "Age of the oldest report of a worker that this supervisor has not read; 0 if it does not lead."},
		func() float64 { return lag().Seconds() })
}

// Limited counts a request that a limit refused.
func (m *Metrics) Limited(limit string) { m.limited.WithLabelValues(limit).Inc() }

// Answered counts a request; the endpoint "" is none.
func (m *Metrics) Answered(endpoint string, status int) {
	m.requests.WithLabelValues(cmp.Or(endpoint, "none"), strconv.Itoa(status)).Inc()
}

// farmCollector turns the view into gauges.
type farmCollector struct {
	view   func() *message.View
	totals func(*message.View) api.Totals
}

var (
	jobsGauge = prometheus.NewDesc("qb_jobs",
		"Jobs in memory: all unfinished ones and the latest finished ones, by status.", []string{"state"}, nil)
	itemsGauge     = prometheus.NewDesc("qb_items", "Items of unfinished jobs, by state.", []string{"state"}, nil)
	slotsGauge     = prometheus.NewDesc("qb_slots", "Slots of hosts that are up or locked.", nil, nil)
	slotsUsedGauge = prometheus.NewDesc("qb_slots_used", "Slots that instances hold.", nil, nil)
	instancesGauge = prometheus.NewDesc("qb_instances", "Instances by kind; draining and stopping ones count separately.",
		[]string{"kind"}, nil)
	brakeGauge = prometheus.NewDesc("qb_brake_engaged",
		"1 while the mass-failure brake is engaged: so many hosts are silent that their items are not moved.", nil, nil)
	claimsGauge = prometheus.NewDesc("qb_host_name_claims",
		"Workers that are refused because they report another host's name or have its key, by their shortened ids.",
		[]string{"host", "machine", "boot", "claim_machine", "claim_boot", "claim_state_folder", "code"}, nil)
	hostsGauge   = prometheus.NewDesc("qb_hosts", "Hosts by state.", []string{"state"}, nil)
	panicCounter = prometheus.NewDesc("qb_plan_panics_total",
		"Plans of this term that panicked or took too many steps, tries to find the job to blame included.", nil, nil)
	noPlansGauge = prometheus.NewDesc("qb_plans_stopped",
		"1 while no plans are made, as they fail and no single job is to blame.", nil, nil)
	droppedCounter = prometheus.NewDesc("qb_plan_starts_dropped_total",
		"Starts that a plan of this term had for now and that could not be made any more.", nil, nil)
	putOffCounter = prometheus.NewDesc("qb_plans_put_off_total",
		"Plans of this term that were put off, as too many had followed one event.", nil, nil)
	plansCounter = prometheus.NewDesc("qb_plans_total", "Plans of this term. Each is of the whole farm.",
		[]string{"kind"}, nil)
)

// Describe sends nothing, which makes this an unchecked collector: its metrics are made at each scrape.
func (c *farmCollector) Describe(chan<- *prometheus.Desc) {}

func (c *farmCollector) Collect(to chan<- prometheus.Metric) {
	view := c.view()
	if view == nil {
		view = &message.View{}
	}
	all := c.totals(view)
	used := 0
	for _, h := range view.Hosts {
		used += h.Used
		collectClaims(to, h)
	}
	collectMemory(to, view)
	to <- prometheus.MustNewConstMetric(plansCounter, prometheus.CounterValue, float64(view.Counts.Plans), "whole")
	to <- prometheus.MustNewConstMetric(droppedCounter, prometheus.CounterValue, float64(view.Counts.DroppedStarts))
	to <- prometheus.MustNewConstMetric(putOffCounter, prometheus.CounterValue, float64(view.Counts.PlansPutOff))
	to <- prometheus.MustNewConstMetric(panicCounter, prometheus.CounterValue, float64(view.Counts.PlanPanics))
	to <- prometheus.MustNewConstMetric(noPlansGauge, prometheus.GaugeValue, flag(view.NoPlans != ""))
	gauges(to, jobsGauge, all.Jobs, "pending", "blocked", "running", "suspended", "complete", "failed", "killed")
	gauges(to, hostsGauge, all.Hosts, "up", "unreachable", "lost", "locked")
	i := all.Items
	gauges(to, itemsGauge, map[string]int{"pending": i.Pending, "running": i.Running, "complete": i.Complete,
		"failed": i.Failed, "killed": i.Killed, "blocked": i.Blocked})
	gauges(to, instancesGauge, map[string]int{"primary": all.Instances.Primary, "secondary": all.Instances.Secondary,
		"draining": all.Instances.Draining})
	to <- prometheus.MustNewConstMetric(brakeGauge, prometheus.GaugeValue, flag(view.Brake != ""))
	to <- prometheus.MustNewConstMetric(slotsGauge, prometheus.GaugeValue, float64(all.Slots.Total))
	to <- prometheus.MustNewConstMetric(slotsUsedGauge, prometheus.GaugeValue, float64(used))
}

// gauges sends each value with its label. Labels in always are sent at zero, too, so that a series does not vanish with
// its last member.
func gauges(to chan<- prometheus.Metric, d *prometheus.Desc, values map[string]int, always ...string) {
	for _, label := range always {
		values[label] += 0
	}
	for label, n := range values {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), label)
	}
}

// flag is 1 for true, 0 for false.
func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// counter registers one.
func counter(r prometheus.Registerer, name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	r.MustRegister(c)
	return c
}

// newMailMetrics counts what this process did with mails.
func newMailMetrics(r prometheus.Registerer) mail.Metrics {
	waiting := prometheus.NewGauge(prometheus.GaugeOpts{Name: "qb_mails_waiting",
		Help: "Mails about ended jobs that wait to be sent, as the leader last saw it."})
	r.MustRegister(waiting)
	return mail.Metrics{
		Waiting: waiting,
		Sent:    counter(r, "qb_mails_sent_total", "Mails that the mail server has taken."),
		Delayed: counter(r, "qb_mails_delayed_total", "Tries after which a mail waits to be tried again."),
		Dropped: counter(r, "qb_mails_dropped_total",
			"Mails that were given up: refused for good, without a valid address, too old, or too many of one user."),
	}
}

// newAuditMetrics tell of the audits that this process made by itself.
func newAuditMetrics(r prometheus.Registerer) selfaudit.Metrics {
	problems := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "qb_audit_problems",
		Help: "Items of which the workers' records differ from the rows, by kind, as of the last audit that the leader made by itself."},
		[]string{"kind"})
	ended := prometheus.NewGauge(prometheus.GaugeOpts{Name: "qb_audit_last_run_timestamp_seconds",
		Help: "When that audit ended, 0 before the first."})
	took := prometheus.NewGauge(prometheus.GaugeOpts{Name: "qb_audit_last_run_seconds", Help: "What it took."})
	r.MustRegister(problems, ended, took)
	return selfaudit.Metrics{
		Problems: func(kind string, n float64) { problems.WithLabelValues(kind).Set(n) },
		Ended:    ended,
		Took:     took,
		Failed:   counter(r, "qb_audit_failures_total", "Audits by itself that could not be carried out."),
	}
}

// newHistoryMetrics counts what was done to history by this process.
func newHistoryMetrics(r prometheus.Registerer) history.Metrics {
	count := func(name, help string) prometheus.Counter { return counter(r, name, help) }
	free := prometheus.NewGauge(prometheus.GaugeOpts{Name: "qb_log_disk_free_bytes",
		Help: "Free room on the disk of the logs, as the leader last saw it."})
	r.MustRegister(free)
	return history.Metrics{
		Free: free,
		Logs: count("qb_logs_removed_total",
			"Logs of attempts deleted for age, with their job, or because the disk was almost full."),
		Early: count("qb_logs_removed_early_jobs_total",
			"Jobs whose logs were deleted early because of supervisor_log_min_free."),
		Compacted: count("qb_history_compacted_attempts_total", "Attempts replaced with daily sums."),
		Removed:   count("qb_history_removed_jobs_total", "Jobs deleted because of supervisor_job_retention."),
		Failed:    count("qb_history_errors_total", "Failures to compact or delete history; they are retried."),
	}
}

// collectClaims counts claims whose ids, shortened, are the same as one series.
func collectClaims(to chan<- prometheus.Metric, h *message.HostView) {
	claims := map[agents.Claim]int{}
	for _, c := range h.Claims {
		claims[agents.Claim{MachineID: c.MachineID, Boot: c.Boot, StateID: c.StateID, Code: c.Code}]++
	}
	for c, n := range claims {
		to <- prometheus.MustNewConstMetric(claimsGauge, prometheus.GaugeValue, float64(n), string(h.ID),
			facts.Short(h.MachineID), facts.Short(h.Boot), c.MachineID, c.Boot, c.StateID, c.Code)
	}
}
