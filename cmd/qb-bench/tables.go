package main

// table is a table of docs/benchmarks.md. A row is a run of this program, or a benchmark of a package.
type table struct {
	name    string
	first   string   // heading of the first column
	test    []string // package, pattern and -benchtime of benchmarks; nil: runs of this program
	rows    []run
	columns []column
	minutes float64 // about what one round takes on two cores
}

// run is a row: this program with these options.
type run struct {
	label   string
	options string
}

// column shows figures of a row: members of the JSON object, or units of a benchmark. What a row lacks is left out.
type column struct {
	head   string
	format string // of fmt, for each of them
	of     []string
}

// Figures that more than one table has; each is of an item, in microseconds, or of all of a run.
var (
	perSecond = column{"items per second", "%.0f", []string{"items_per_second"}}
	ofLimit   = column{"of the limit", "%.2f", []string{"limit.of_limit"}}
	refill    = column{"a slot waits, p50 / p99 (ms)", "%.0f / %.0f", []string{"refill_ms.p50", "refill_ms.p99"}}
	perItem   = column{"supervisor, Postgres, hosts (µs an item)", "%.0f, %.0f, %.0f",
		[]string{"supervisor_us", "postgres_us", "hosts_us"}}
	memory = column{"memory of supervisor, hosts (MB)", "%.0f, %.0f", []string{"supervisor_mb", "hosts_mb"}}
	full   = column{"97 % full after (s); then mean, least (%)", "%.0f; %.1f, %.1f",
		[]string{"full.after_97", "full.mean_percent", "full.least_percent"}}
	load      = column{"load before, during; all else used (cores)", "%.1f, %.1f; %.2f", []string{"load.before", "load.during", "other_cores"}}
	loadAlone = column{"load before, during", "%.1f, %.1f", []string{"load.before", "load.during"}}
	planCount = column{"plans", "%.0f", []string{"plans.whole"}}
	cpuPerOp  = column{"processor time (µs)", "%.0f", []string{"cpu-µs/op"}}
)

// tables are those of the document, in its order.
var tables = []table{
	{name: "throughput", first: "farm", minutes: 1.6, rows: []run{
		{"100 hosts of 16 slots, items without run time", "-items 200000"},
		{"the same with TLS", "-items 200000 -tls"},
		{"one host, one slot, items of 5 ms", "-hosts 1 -slots 1 -jobs 1 -items 1000 -duration 5ms"},
		{"100 hosts of 16 slots, half of them in use, items of 1 s", "-jobs 1 -width 800 -items 12000 -duration 1s"},
	}, columns: []column{perSecond, ofLimit, refill, perItem, load}},
	{name: "real", first: "slots of one host", minutes: 1.2, rows: []run{
		{"16", "-real -hosts 1 -slots 16 -seconds 5"},
		{"one", "-real -hosts 1 -slots 1 -seconds 5"},
		{"16, of load-once programs that do nothing", "-real -loadonce -hosts 1 -slots 16 -seconds 5"},
	}, columns: []column{perSecond, {"of bare launches", "%.2f", []string{"of_bare"}},
		{"shims, their children, agent, supervisor, Postgres (ms of a processor an item)", "%.2f, %.2f, %.2f, %.2f, %.2f",
			[]string{"cpu_ms.shims", "cpu_ms.items", "cpu_ms.agents", "cpu_ms.supervisor", "cpu_ms.postgres"}},
		{"all; a bare launch", "%.2f; %.2f", []string{"cpu_ms.all", "bare_cpu_ms"}}, loadAlone}},
	{name: "hosts", first: "hosts of 16 slots, mean run time", minutes: 6, rows: []run{
		{"100, 1 s", "-hosts 100 -items 1000000 -duration 1s -seconds 60"},
		{"1,000, 10 s", "-hosts 1000 -jobs 50 -items 2000000 -duration 10s -seconds 90"},
		{"10,000, 60 s", "-hosts 10000 -jobs 200 -items 20000000 -duration 60s -seconds 180"},
	}, columns: []column{perSecond, full, perItem, planCount, memory, load}},
	{name: "register", first: "hosts that register", minutes: 0.5, test: []string{"./supervisor/farm", "^BenchmarkRegister$", "3x"},
		columns: []column{{"a host (µs)", "%.0f", []string{"µs/host"}}}},
	{name: "arrivals", first: "jobs that arrive", minutes: 1.5, rows: []run{
		{"50 a second, nothing else", "-jobs 0 -arrivals 50 -duration 1s -seconds 30"},
		{"50 a second, in a full farm of items without run time", "-arrivals 50 -items 9000000 -seconds 30"},
	}, columns: []column{
		{"a reply, p50 / p99 (ms)", "%.0f / %.0f", []string{"arrivals.submit_ms.p50", "arrivals.submit_ms.p99"}},
		{"first item on a host, p50 / p99 (ms)", "%.0f / %.0f", []string{"arrivals.first_start_ms.p50", "arrivals.first_start_ms.p99"}},
		{"supervisor and Postgres (ms a job)", "%.1f", []string{"arrivals.job_cpu_ms"}}, perSecond, planCount, load}},
	{name: "submission", first: "database that takes no time", minutes: 0.5, test: []string{"./supervisor/lead/term", "^BenchmarkSubmission$", "200x"},
		columns: []column{{"beside 100 jobs, p50, mean (µs)", "%.0f, %.0f", []string{"beside-100-p50-µs", "beside-100-mean-µs"}},
			{"beside 10,000 jobs, p50, mean (µs)", "%.0f, %.0f", []string{"beside-10000-p50-µs", "beside-10000-mean-µs"}}}},
	{name: "restart", first: "10,000 hosts of 16 slots, all in use; ended attempts of the jobs", minutes: 5, rows: []run{
		{"0", "-restart -hosts 10000 -jobs 200 -items 20000000 -duration 60s"},
		{"1,000,000", "-restart -hosts 10000 -jobs 200 -items 20000000 -duration 60s -ended 1000000"},
	}, columns: []column{{"ready after (s)", "%.1f", []string{"ready_seconds"}},
		{"until then supervisor, Postgres (s of a processor)", "%.1f, %.1f", []string{"supervisor_cpu_seconds", "postgres_cpu_seconds"}},
		{"next item ended, all hosts up after (s)", "%.1f, %.1f", []string{"works_seconds", "heard_seconds"}},
		{"memory of the supervisor (MB)", "%.0f", []string{"supervisor_mb"}}, loadAlone}},
	{name: "standstill", first: "hosts of 16 slots", minutes: 3, rows: []run{
		{"2,000", "-standstill -hosts 2000 -items 40000"}, {"10,000", "-standstill -hosts 10000"},
	}, columns: []column{{"all slots filled after (s)", "%.0f", []string{"fill.seconds"}},
		{"meanwhile a submission, p50 / p99 / most (ms)", "%.0f / %.0f / %.0f", []string{"fill.submit_ms.p50", "fill.submit_ms.p99", "fill.submit_ms.max"}},
		{"all hosts lost in (s)", "%.0f", []string{"lose.seconds"}},
		{"meanwhile a submission, p50 / p99 / most (ms)", "%.0f / %.0f / %.0f", []string{"lose.submit_ms.p50", "lose.submit_ms.p99", "lose.submit_ms.max"}},
		loadAlone}},
	{name: "overload", first: "hosts of 16 slots", minutes: 2.5, rows: []run{
		{"1,500", "-overload -hosts 1500 -jobs 20 -items 4000000"},
	}, columns: []column{{"best (items/s)", "%.0f", []string{"best"}}, {"demanded", "%.0f", []string{"demand"}},
		{"done (of the best)", "%.0f (%.2f)", []string{"goodput", "part_of_best"}},
		{"unreachable hosts, most", "%.0f", []string{"unreachable"}}, {"recovered after (s)", "%.1f", []string{"recovered_seconds"}},
		loadAlone}},
	{name: "reads", first: "read", minutes: 1, test: []string{"./supervisor/serve", "^BenchmarkReads$", "20x"},
		columns: []column{{"answer (bytes)", "%.0f", []string{"bytes/answer"}}, cpuPerOp}},
	{name: "rows", first: "command", minutes: 0.7, test: []string{"./cmd/qb", "^BenchmarkRows$", "3x"},
		columns: []column{{"processor time (µs a row)", "%.1f", []string{"cpu-µs/row"}}}},
	{name: "planner", first: "division of slots", minutes: 1.5, test: []string{"./supervisor/share/planner", "^BenchmarkBalance$", "40x"},
		columns: []column{cpuPerOp}},
	{name: "change", first: "event with its plan", minutes: 1.5, test: []string{"./supervisor/farm", "^BenchmarkChange$", "100x"},
		columns: []column{cpuPerOp}},
	{name: "memory", first: "one plan", minutes: 2, test: []string{"./supervisor/farm", "^BenchmarkPlanWithMemory$|^BenchmarkBestFit$", "3x"},
		columns: []column{{"hosts report their memory (ms)", "%.2f", []string{"memory-ms"}},
			{"they do not (ms)", "%.2f", []string{"plain-ms"}}}},
	{name: "charges", first: "charges of an item", minutes: 25, test: []string{"./cmd/qb-bench", "^BenchmarkChargedItem$", "250x"},
		columns: pairsColumns},
	{name: "commit", first: "payers in a commit of 100 items", minutes: 1, test: []string{"./supervisor/store/postgres", "^BenchmarkCharge$", "300x"},
		columns: []column{{"without charges (µs an item)", "%.1f", []string{"plain-cpu-us/item"}},
			{"with charges (µs an item)", "%.1f", []string{"charged-cpu-us/item"}}}},
	{name: "profiles", first: "profiles of an item", minutes: 10, test: []string{"./cmd/qb-bench", "^BenchmarkProfiledItem/items=100000$", "200x"},
		columns: pairsColumns},
	{name: "compaction", first: "a host ends eight items and waits for the next", minutes: 1.5,
		test: []string{"./supervisor/serve", "^BenchmarkDispatchBesideCompaction$", "3000x"},
		columns: []column{{"nothing is compacted, p50 / p99 (ms)", "%.1f / %.1f", []string{"alone-p50-ms", "alone-p99-ms"}},
			{"while a chunk is, p50 / p99 (ms)", "%.1f / %.1f", []string{"beside-p50-ms", "beside-p99-ms"}}}},
}

// pairsColumns are of benchmarks that compare two ways in turns.
var pairsColumns = []column{{"without (µs an item)", "%.1f", []string{"plain-cpu-us/item"}},
	{"added, median (%)", "%.1f", []string{"added-median-%"}},
	{"95 % interval", "%.1f to %.1f", []string{"added-low-%", "added-high-%"}},
	{"added WAL (%)", "%.1f", []string{"added-wal-%"}}}
