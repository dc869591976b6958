package main

// benchResult is the contract's JSON object.
type benchResult struct {
	Items                int                `json:"items"`
	Seconds              float64            `json:"seconds"`
	ItemsPerSecond       float64            `json:"items_per_second"`
	RefillMS             map[string]float64 `json:"refill_ms"`
	SubmitMS             float64            `json:"submit_ms"`
	SupervisorCPUSeconds float64            `json:"supervisor_cpu_seconds"`
	PostgresCPUSeconds   float64            `json:"postgres_cpu_seconds"`
	HostsCPUSeconds      float64            `json:"hosts_cpu_seconds"` // of the simulated hosts
	HostsCPUShare        float64            `json:"hosts_cpu_share"`   // of all three
	BenchCPUSeconds      float64            `json:"bench_cpu_seconds"` // of this program: it submits, and looks
	OtherCPUSeconds      float64            `json:"other_cpu_seconds"` // of all else on this machine
	Load                 benchLoad          `json:"load"`
	SupervisorRSS        int64              `json:"supervisor_rss"`
	HostsRSS             int64              `json:"hosts_rss"` // of all simulated hosts together
	Start                benchLevel         `json:"start"`     // before the first job
	End                  benchLevel         `json:"end"`       // when the hosts are gone
	Commits              int64              `json:"commits"`
	RowsWritten          int64              `json:"rows_written"`
	Plans                benchPlans         `json:"plans"`
	Full                 benchFull          `json:"full"`
	Limit                *benchLimit        `json:"limit,omitempty"`
	Arrivals             *benchArrivals     `json:"arrivals,omitempty"`
	Hosts                int                `json:"hosts"`
	Slots                int                `json:"slots"`
}

// benchPlans is how often the supervisor planned.
type benchPlans struct {
	Whole int64 `json:"whole"`
}

// benchFull is how full the farm was. Shares are of its slots.
type benchFull struct {
	After90 float64 `json:"after_90"` // seconds until so many per cent of the slots were in use; 0: never
	After97 float64 `json:"after_97"`
	Mean    float64 `json:"mean"`  // from then on, by time, until the last item began
	Least   float64 `json:"least"` // in that time
	seconds float64 // of that time
}

// note takes in the share of slots in use at a time after the begin, the last time that it was looked at, and whether
// there are items to begin.
func (f *benchFull) note(share, at, before float64, waiting bool) {
	if f.After90 == 0 && share >= 0.9 {
		f.After90 = at
	}
	switch {
	case f.After97 == 0 && share >= 0.97:
		f.After97 = at
		f.Least = share
	case f.After97 > 0 && waiting:
		f.Least = min(f.Least, share)
		f.Mean = (f.Mean*f.seconds + share*(at-before)) / (f.seconds + at - before)
		f.seconds += at - before
	}
}
