package farm_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// machineDouble is the memory that doubles on one machine share, in bytes.
type machineDouble struct {
	total, foreign int64
	agents         []*memoryDouble
	garbage        bool // its agents report nonsense
}

// memoryDouble is what one worker says of it.
type memoryDouble struct {
	name     string
	shared   *machineDouble
	cap      int64 // worker_memory, 0: all
	reserve  int64
	resident map[facts.AttemptID]int64
}

// gigabytes reads 5, 2.5 and 300M.
func gigabytes(text string) int64 {
	digits, mega := strings.CutSuffix(text, "M")
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		panic(err)
	}
	if mega {
		return int64(v * (1 << 20))
	}
	return int64(v * (1 << 30))
}

// withMemory gives a worker its memory: mem=8 machine=m cap=2 reserve=1.
func (r *rig) withMemory(w *workerDouble, args []string) {
	if w.swap.Total = gigabytes(option(args, "swap", "0")); w.swap.Total > 0 {
		w.resources = map[string]int{"swap": int(w.swap.Total)}
	}
	m := &memoryDouble{name: option(args, "machine", ""), cap: gigabytes(option(args, "cap", "0")), reserve: gigabytes(option(args, "reserve", "0")),
		resident: map[facts.AttemptID]int64{}}
	for _, o := range r.workers {
		if m.name != "" && o.mem.name == m.name {
			m.shared = o.mem.shared
		}
	}
	if m.shared == nil {
		m.shared = &machineDouble{total: gigabytes(option(args, "mem", "0"))}
	}
	m.shared.agents = append(m.shared.agents, m)
	w.mem = m
}

// report says what the worker's memory is like now.
func (m *memoryDouble) report(e *message.WorkerSynced) {
	if m == nil {
		return
	}
	s := m.shared
	e.Host.MachineID, e.Host.Memory, e.Total, e.Reserve = m.name, max(0, s.total-m.reserve), s.total, m.reserve
	if m.cap > 0 {
		e.Host.Memory = min(e.Host.Memory, m.cap)
	}
	e.Available, e.Foreign = s.total-s.foreign, s.foreign
	maps.DeleteFunc(m.resident, func(id facts.AttemptID, _ int64) bool {
		return !slices.ContainsFunc(e.Instances, func(i message.ReportedInstance) bool { return i.Attempt == id })
	})
	for _, o := range s.agents {
		for _, bytes := range o.resident {
			e.Available -= bytes
		}
	}
	for n := range e.Instances {
		e.Instances[n].Memory = m.resident[e.Instances[n].Attempt]
	}
	if s.garbage {
		e.Available = -5
		for n := range e.Instances {
			e.Instances[n].Memory = 2 * s.total
		}
	}
}

// memoryVerb does what concerns memory: "uses 1/3 2", "foreign a 3", "garbage a", "hosts", "limits".
func (r *rig) memoryVerb(verb string, args []string) bool {
	switch verb {
	case "uses":
		for _, w := range r.sortedWorkers() {
			for _, id := range w.running {
				if r.named(id, args[0]) {
					w.mem.resident[id] = gigabytes(args[1])
				}
			}
			w.owes = true
		}
	case "foreign", "garbage":
		shared := r.workers[facts.HostID(args[0])].mem.shared
		if shared.garbage = verb == "garbage"; !shared.garbage {
			shared.foreign = gigabytes(args[1])
		}
		for _, w := range r.workers {
			w.owes = w.owes || w.mem.shared == shared
		}
	case "others": // take slots: others a 2 for=people
		w := r.workers[facts.HostID(args[0])]
		w.away, w.keptFor, w.owes = number(args[1]), option(args, "for", ""), true
	case "swaps": // swaps a used=1 rate=20M refusing=why
		w := r.workers[facts.HostID(args[0])]
		w.swap.Used, w.swap.Rate = gigabytes(option(args, "used", "0")), gigabytes(option(args, "rate", "0"))
		w.refusing, w.owes = strings.ReplaceAll(option(args, "refusing", ""), "_", " "), true
	case "limits":
		for _, w := range r.sortedWorkers() {
			for _, id := range w.running {
				if limit, ok := w.limits[id]; ok {
					fmt.Fprintf(&r.out, "%s is ended at %s\n", r.item(id), rounded(limit))
				}
			}
		}
	case "hosts":
		for _, h := range r.farm.View(r.now).Hosts {
			fmt.Fprintf(&r.out, "host %s %d/%d slots, %s available, %s promised, %s for each idle slot%s\n", h.ID, h.Used, h.Slots,
				rounded(h.Available), rounded(h.Promised), rounded(h.PerIdle), strings.TrimSuffix("; "+h.Remark, "; "))
		}
	default:
		return false
	}
	return true
}

// named says whether an attempt is of item 1/3, or of job 1.
func (r *rig) named(id facts.AttemptID, text string) bool {
	job, name, one := strings.Cut(text, "/")
	a, err := agenda.Parse(r.rows.jobs[id.Job].Agenda, 1<<30)
	return err == nil && fmt.Sprint(id.Job) == job && (!one || a.Item(int(id.Item)).Name == name)
}

// ends completes the report of an end: peak=2 limit.
func (w *workerDouble) ends(id facts.AttemptID, args []string) {
	e := &w.finished[len(w.finished)-1]
	e.Peak, e.Limit = gigabytes(option(args, "peak", "0")), slices.Contains(args, "limit")
	e.Wall, e.CPU = float64(number(option(args, "wall", "10"))), float64(number(option(args, "cpu", "10")))
}

func rounded(bytes int64) string { return fmt.Sprintf("%.4g GiB", float64(bytes)/(1<<30)) }

func with(memory int64) string {
	if memory == 0 {
		return ""
	}
	return " with " + rounded(memory)
}

func setMemoryPolicy(p *message.Policy, args []string) {
	m := &p.Memory
	m.Placement = option(args, "placement", m.Placement)
	m.Default = gigabytes(option(args, "default_memory", fmt.Sprintf("%dM", m.Default>>20)))
	m.Trim = option(args, "trim", fmt.Sprint(m.Trim)) == "true"
	quantile, err := strconv.ParseFloat(option(args, "quantile", fmt.Sprint(m.Quantile)), 64)
	if err != nil {
		panic(err)
	}
	m.Quantile = quantile
	p.AvoidAfter, p.AvoidFor = number(option(args, "avoid_after", fmt.Sprint(p.AvoidAfter))), 20*time.Minute
	p.TimeFactor = float64(number(option(args, "time_factor", fmt.Sprint(p.TimeFactor))))
	p.CPUShare.Mode, p.CPUShare.Quantile = option(args, "cpu_share", p.CPUShare.Mode), 1
	p.CPUShare.By = option(args, "cpu_share_by", cmp.Or(p.CPUShare.By, "users"))
	p.CPUShare.Seed = uint64(number(option(args, "cpu_share_seed", fmt.Sprint(p.CPUShare.Seed))))
}
