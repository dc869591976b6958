package fit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"qb/agenda"
	"qb/internal/pathmap"
	"qb/internal/units"
	"qb/supervisor/job/facts"
)

// RefusedFor is for how long a host gets no items of a user that it could not run, or that failed there.
const RefusedFor = 10 * time.Minute

// Host is a host as far as it decides which jobs may run there.
type Host struct {
	facts.HostFacts
	RunAs     string             // "agent": it runs items of one user only
	AgentUser string             // that user
	Owners    *Owners            // as whom it runs items where RunAs is "owner"; nil: not reported
	Refuses   map[string]Refuses // users it gets no items of for a while
	Lacks     Lacks              // what it cannot give jobs
	paths     pathmap.Map        // its worker_path_map; see Take
}

// Refuses is until when a host gets no items of a user or a job.
type Refuses struct {
	Until time.Time
	// items that failed there while other hosts completed such; 0: it could not run as the user, or the job was migrated
	// from it
	Failed int
}

// Load is what runs on a host. It is asked only for properties that change with that.
type Load interface {
	Used() int                 // slots
	Unused() int64             // bytes of memory
	Duty(what string) []string // the id, user, name or kind of each job there; those of no kind left out
}

// RunsFor says whether the host may run items of the user.
func (h *Host) RunsFor(now time.Time, user string) bool {
	if now.Before(h.Refuses[user].Until) {
		return false
	}
	return h.servesUser(user)
}

// servesUser says whether the worker runs as the user, or as its own user, and this is that user.
func (h *Host) servesUser(user string) bool {
	return h.RunAs != "agent" || h.AgentUser == "" || h.AgentUser == user
}

// Choosy says whether the host may run items of some users only.
func (h *Host) Choosy() bool { return h.RunAs == "agent" || len(h.Refuses) > 0 }

// Stock is the host's whole stock of a resource that instances take.
func (h *Host) Stock(name string) int64 {
	if total, ok := h.Resources[strings.TrimPrefix(name, "host.")]; ok {
		return int64(total)
	}
	return int64(h.Resources[name])
}

// JobTypes are the types of jobs that the host runs; all where its worker names none.
func (h *Host) JobTypes() []string {
	if types := facts.SplitList(h.Properties["jobtypes"]); len(types) > 0 {
		return types
	}
	return facts.JobTypes
}

// property looks a property of the host up for a requirement.
func (h *Host) property(name string, load Load) (agenda.Value, bool) {
	switch name {
	case "host.name":
		return agenda.TextValue(string(h.ID)), true
	case "host.cluster":
		return agenda.TextValue(h.Cluster), true
	case "host.groups":
		return agenda.ListValue(h.Groups), true
	case "host.processors", "host.processors.total":
		return agenda.NumberValue(float64(h.Slots)), true
	case "host.processors.used":
		return agenda.NumberValue(float64(load.Used())), true
	case "host.processors.avail":
		return agenda.NumberValue(float64(max(0, h.Slots-load.Used()))), true
	case "host.memory", "host.memory.total":
		return agenda.SizeValue(h.Memory), true
	case "host.memory.avail":
		return agenda.SizeValue(load.Unused()), true
	case "host.gpus":
		return agenda.NumberValue(float64(h.Stock("host.gpus"))), true
	case "host.swap":
		return agenda.SizeValue(h.Stock("host.swap")), true
	case "host.scratch":
		return agenda.SizeValue(h.Stock("host.scratch")), true
	case "host.state":
		if h.LockedBy != "" {
			return agenda.TextValue("locked"), true
		}
		return agenda.TextValue("active"), true
	case "host.processor_speed":
		speed, err := strconv.ParseFloat(h.Properties["processor_speed"], 64)
		return agenda.NumberValue(speed), err == nil
	case "host.jobtypes":
		return agenda.ListValue(h.JobTypes()), true
	case "host.flags":
		return agenda.ListValue(facts.SplitList(h.Properties["flags"])), true
	}
	if flag, ok := strings.CutPrefix(name, "host.flag."); ok {
		return agenda.FlagValue(slices.Contains(facts.SplitList(h.Properties["flags"]), flag)), true
	}
	if duty, ok := strings.CutPrefix(name, "host.duty."); ok {
		return agenda.ListValue(load.Duty(duty)), true
	}
	short := strings.TrimPrefix(name, "host.")
	if text, ok := h.Properties[short]; ok {
		return agenda.TextValue(text), true
	}
	if count, ok := h.Resources[short]; ok {
		return agenda.NumberValue(float64(count)), true
	}
	return agenda.Value{}, false
}

// Quantity writes an amount of a resource: "2 of host.gpus", "20 GiB of host.scratch".
func Quantity(name string, n int64) string { return Amount(name, n) + " of " + name }

// Amount writes how much of a resource: disk and swap space are counted in bytes, all else in pieces.
func Amount(name string, n int64) string {
	if name == "host.scratch" || name == "host.swap" {
		return units.Size(n)
	}
	return fmt.Sprint(n)
}

// Overlap says whether something of a is more than nothing in b, of amounts by name.
func Overlap(a, b map[string]int64) bool {
	for name := range a {
		if b[name] > 0 {
			return true
		}
	}
	return false
}
