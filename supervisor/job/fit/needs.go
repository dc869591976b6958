package fit

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"qb/agenda"
	"qb/supervisor/job/facts"
)

// Needs is what an instance of a job takes and asks of its host, read from the job's texts.
type Needs struct {
	Slots    int              // least
	Most     int              // slots it takes if they are free; agenda.Unlimited: all
	Idle     bool             // the host must run nothing else
	Memory   int64            // bytes reserved by the user, 0: nothing said
	Takes    map[string]int64 // other resources, by host.NAME or license.NAME
	Seats    []string         // resources counted per host, by name: license_host.NAME
	Holds    map[string]int64 // Takes, and one of each of Seats
	Required *agenda.Requirement
	Within   []string     // patterns of host clusters, of which one must match; nil: all
	Order    []Preference // among hosts that fit
	foreign  foreign
}

// Properties are the names that requirements may use, beside whatever properties the hosts bring. Memory
// is in MB where no unit is given, as in Qube.
var Properties = []agenda.Property{
	{Name: "host.name", Kind: agenda.KindText}, {Name: "host.os", Kind: agenda.KindText},
	{Name: "host.architecture", Kind: agenda.KindText}, {Name: "host.kernel_version", Kind: agenda.KindText},
	{Name: "host.cluster", Kind: agenda.KindText}, {Name: "host.groups", Kind: agenda.KindList},
	{Name: "host.processors", Kind: agenda.KindNumber}, {Name: "host.processors.total", Kind: agenda.KindNumber},
	{Name: "host.processors.used", Kind: agenda.KindNumber}, {Name: "host.processors.avail", Kind: agenda.KindNumber},
	{Name: "host.memory", Kind: agenda.KindSize}, {Name: "host.memory.total", Kind: agenda.KindSize},
	{Name: "host.memory.avail", Kind: agenda.KindSize}, {Name: "host.gpus", Kind: agenda.KindNumber},
	{Name: "host.scratch", Kind: agenda.KindSize}, {Name: "host.swap", Kind: agenda.KindSize},
	{Name: "host.duty.id", Kind: agenda.KindList},
	{Name: "host.duty.user", Kind: agenda.KindList}, {Name: "host.duty.name", Kind: agenda.KindList},
	{Name: "host.duty.kind", Kind: agenda.KindList},
	{Name: "host.duty.label", Kind: agenda.KindList}, {Name: "host.duty.pgrp", Kind: agenda.KindList},
	{Name: "host.duty.pid", Kind: agenda.KindList},
	{Name: "host.duty.type", Kind: agenda.KindList}, {Name: "host.duty.cluster", Kind: agenda.KindList},
	{Name: "host.duty.account", Kind: agenda.KindList},
	{Name: "host.state", Kind: agenda.KindText}, {Name: "host.processor_speed", Kind: agenda.KindNumber},
	{Name: "host.jobtypes", Kind: agenda.KindList}, {Name: "host.flags", Kind: agenda.KindList},
	{Name: "host.flag.*", Kind: agenda.KindFlag},
	{Name: "job.id", Kind: agenda.KindNumber}, {Name: "job.name", Kind: agenda.KindText},
	{Name: "job.user", Kind: agenda.KindText},
	{Name: "job.priority", Kind: agenda.KindNumber}, {Name: "job.cluster", Kind: agenda.KindText},
	{Name: "job.kind", Kind: agenda.KindText},
	{Name: "job.label", Kind: agenda.KindText}, {Name: "job.pgrp", Kind: agenda.KindNumber},
	{Name: "job.pid", Kind: agenda.KindNumber},
	{Name: "job.status", Kind: agenda.KindText}, {Name: "job.type", Kind: agenda.KindText},
	{Name: "job.account", Kind: agenda.KindText},
	{Name: "job.cpus", Kind: agenda.KindNumber}, {Name: "job.flags", Kind: agenda.KindList},
	{Name: "job.flag.*", Kind: agenda.KindFlag},
}

// Known are all properties that a requirement may use on a farm of these hosts.
func Known(hosts iter.Seq[*Host]) []agenda.Property {
	own := map[string]bool{}
	for h := range hosts {
		for name := range h.Properties {
			own["host."+name] = true
		}
		for name := range h.Resources {
			own["host."+strings.TrimPrefix(name, "host.")] = true
		}
	}
	for _, p := range Properties {
		delete(own, p.Name)
	}
	all := slices.Clone(Properties)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		all = append(all, agenda.Property{Name: name, Kind: agenda.KindText})
	}
	return all
}

// Site is what a job's texts may refer to.
type Site struct {
	Known     []agenda.Property // that requirements may use
	Order     []Preference      // of hosts, for jobs that name none
	Resources map[string]int64  // of the whole farm
	Lenient   bool              // a property or resource may be unknown: the text was accepted before
}

// Fault is what cannot be read, and the member of the job that it is in.
type Fault struct {
	Member string
	Err    error
}

func (f *Fault) Error() string { return f.Err.Error() }
func (f *Fault) Unwrap() error { return f.Err }

// Read reads a job's requirements, reservations, restrictions and host order, and finds its paths.
func Read(row facts.JobFacts, site Site) (Needs, error) {
	known := slices.Clip(site.Known)
	if site.Lenient {
		known = append(known, agenda.Property{Name: "host.*", Kind: agenda.KindText})
	}
	required, err := agenda.ParseRequirement(row.Requirements, known)
	if err != nil {
		return Needs{}, &Fault{"requirements", err}
	}
	list, err := agenda.ParseReservations(row.Reservations)
	if err != nil {
		return Needs{}, &Fault{"reservations", err}
	}
	slots := list.Slots()
	within, err := parseRestrictions(row.Restrictions)
	if err != nil {
		return Needs{}, &Fault{"restrictions", err}
	}
	order, err := parseHostOrder(row.HostOrder, known)
	if err != nil {
		return Needs{}, &Fault{"hostorder", err}
	}
	if row.HostOrder == "" {
		order = site.Order
	}
	n := Needs{Within: within, Order: order, Slots: int(slots.Least), Most: int(slots.Most), Idle: slots.Idle,
		Memory: list.Memory(), Takes: map[string]int64{}, Required: required, foreign: readForeign(&row)}
	for _, r := range list {
		if name := r.Class + "." + r.Name; name != "host.processors" && name != "host.memory" {
			if agenda.PerHost(name) {
				if r.Least != 1 {
					return Needs{}, &Fault{"reservations",
						fmt.Errorf("%s=%d: one is counted for each host, however many instances run there; write %s=1", name, r.Least,
							name)}
				}
				n.Seats = append(n.Seats, name)
				continue
			}
			n.Takes[name] = r.Least
			if r.Class == "scoped" { // of the farm, and of its host
				n.Takes["host."+name] = r.Least
			}
		}
	}
	slices.Sort(n.Seats)
	n.Holds = n.Takes
	if len(n.Seats) > 0 {
		n.Holds = maps.Clone(n.Takes)
		for _, name := range n.Seats {
			n.Holds[name] = 1
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Holds)) {
		if _, ok := site.Resources[name]; !ok && !strings.HasPrefix(name, "host.") && !site.Lenient {
			return Needs{}, &Fault{"reservations", fmt.Errorf("resource %q is not known; supervisor_global_resources has %s",
				name, resourceNames(site.Resources))}
		}
	}
	return n, nil
}

func resourceNames(resources map[string]int64) string {
	if len(resources) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(resources)), ", ")
}

// Grant is how many slots an instance gets on a host with so many free and used, 0 if it cannot start there now.
func (n *Needs) Grant(free, used int) int {
	switch {
	case free < n.Slots, n.Idle && used > 0:
		return 0
	case n.Most == agenda.Unlimited:
		return free
	}
	return min(free, max(n.Slots, n.Most))
}

// Startable is how many more instances the resources of a host allow, or with ofHost false those of the whole farm, of
// which so much is left. A negative number is no bound.
func (n *Needs) Startable(ofHost bool, left func(name string) int64) int {
	bound := -1
	for name, each := range n.Takes {
		if each <= 0 || strings.HasPrefix(name, "host.") != ofHost {
			continue
		}
		if count := int(max(0, left(name)) / each); bound < 0 || count < bound {
			bound = count
		}
	}
	return bound
}

// LooksAtJob says whether the requirements have properties of the job.
func (n *Needs) LooksAtJob() bool {
	return slices.ContainsFunc(n.Required.Properties(), func(name string) bool { return strings.HasPrefix(name, "job.") })
}

// LooksAtLoad says whether the requirements have properties that change with what a host runs.
func (n *Needs) LooksAtLoad() bool {
	return slices.ContainsFunc(n.Required.Properties(), func(name string) bool {
		return slices.Contains(passing, name) || name == "job.status" || strings.HasPrefix(name, "host.duty.")
	})
}

// passing are properties that change with what runs.
var passing = []string{"host.processors.used", "host.processors.avail", "host.memory.avail"}

// status is pending until the job's first item starts, then running, in the words of listings.
func (j *Job) status() string {
	switch {
	case j.State != facts.Active:
		return string(j.State)
	case !j.Started:
		return "pending"
	}
	return "running"
}

// Property looks a property of the job up for a requirement.
func (j *Job) Property(name string) (agenda.Value, bool) {
	switch name {
	case "job.id":
		return agenda.NumberValue(float64(j.ID)), true
	case "job.name":
		return agenda.TextValue(j.Name), true
	case "job.user":
		return agenda.TextValue(j.User), true
	case "job.priority":
		return agenda.NumberValue(float64(j.Priority)), true
	case "job.cluster":
		return agenda.TextValue(j.Cluster), true
	case "job.kind":
		return agenda.TextValue(j.Kind), true
	case "job.label":
		return agenda.TextValue(j.Label), true
	case "job.pgrp":
		return agenda.NumberValue(float64(j.PGrp)), true
	case "job.pid":
		return agenda.NumberValue(float64(j.PID)), true
	case "job.status":
		return agenda.TextValue(j.status()), true
	case "job.type":
		return agenda.TextValue(j.Type()), true
	case "job.account":
		return agenda.TextValue(j.Account), true
	case "job.cpus":
		return agenda.NumberValue(float64(j.CPUs)), true
	case "job.flags":
		return agenda.ListValue(j.Flags), true
	}
	if flag, ok := strings.CutPrefix(name, "job.flag."); ok {
		return agenda.FlagValue(slices.Contains(j.Flags, flag)), true
	}
	return agenda.Value{}, false
}
