package farm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"qb/agenda"
	"qb/supervisor/facts"
)

// needs is what an instance of a job takes and asks of its host, read from the job's texts.
type needs struct {
	slots    int              // least
	most     int              // slots it takes if they are free; agenda.Unlimited: all
	idle     bool             // the host must run nothing else
	memory   int64            // bytes reserved by the user, 0: nothing said
	takes    map[string]int64 // other resources, by host.NAME or license.NAME
	required *agenda.Requirement
	within   []string     // patterns of host clusters, of which one must match; nil: all
	order    []preference // among hosts that fit
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
	{Name: "host.scratch", Kind: agenda.KindSize}, {Name: "host.duty.id", Kind: agenda.KindList},
	{Name: "host.duty.user", Kind: agenda.KindList}, {Name: "host.duty.name", Kind: agenda.KindList},
	{Name: "job.id", Kind: agenda.KindNumber}, {Name: "job.name", Kind: agenda.KindText}, {Name: "job.user", Kind: agenda.KindText},
	{Name: "job.priority", Kind: agenda.KindNumber}, {Name: "job.cluster", Kind: agenda.KindText},
}

// known are all properties that a requirement may use on this farm.
func (f *Farm) known() []agenda.Property {
	if f.properties == nil {
		f.properties = f.readProperties()
	}
	return slices.Clip(f.properties)
}

func (f *Farm) readProperties() []agenda.Property {
	own := map[string]bool{}
	for _, h := range f.hosts {
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

// readNeeds reads a job's requirements and reservations.
func (f *Farm) readNeeds(row facts.JobFacts, lenient bool) (needs, error) {
	known := f.known()
	if lenient {
		known = append(known, agenda.Property{Name: "host.*", Kind: agenda.KindText})
	}
	required, err := agenda.ParseRequirement(row.Requirements, known)
	if err != nil {
		return needs{}, err
	}
	list, err := agenda.ParseReservations(row.Reservations)
	if err != nil {
		return needs{}, err
	}
	slots := list.Slots()
	within, err := parseRestrictions(row.Restrictions)
	if err != nil {
		return needs{}, err
	}
	order, err := parseHostOrder(row.HostOrder, known)
	if err != nil {
		return needs{}, err
	}
	if row.HostOrder == "" {
		order = f.siteOrder
	}
	n := needs{within: within, order: order, slots: int(slots.Least), most: int(slots.Most), idle: slots.Idle, memory: list.Memory(), takes: map[string]int64{}, required: required}
	for _, r := range list {
		if name := r.Class + "." + r.Name; name != "host.processors" && name != "host.memory" {
			n.takes[name] = r.Least
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.takes)) {
		if _, ok := f.policy.Resources[name]; !ok && !strings.HasPrefix(name, "host.") && !lenient {
			return needs{}, fmt.Errorf("resource %q is not known; supervisor_global_resources has %s", name, f.resourceNames())
		}
	}
	return n, nil
}

func (f *Farm) resourceNames() string {
	if len(f.policy.Resources) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(f.policy.Resources)), ", ")
}

// grant is how many slots an instance gets on a host, 0 if it cannot start there now.
func (n needs) grant(h *host) int {
	free := h.free()
	switch {
	case free < n.slots, n.idle && h.used > 0:
		return 0
	case n.most == agenda.Unlimited:
		return free
	}
	return min(free, max(n.slots, n.most))
}

// hostResource is a host's whole stock of a resource that instances take.
func (h *host) stock(name string) int64 {
	short := strings.TrimPrefix(name, "host.")
	if total, ok := h.Resources[short]; ok {
		return int64(total)
	}
	return int64(h.Resources[name])
}

// held is what live attempts on the host hold of a resource: always a count, never a counter.
func (h *host) held(name string) int64 {
	var sum int64
	for _, i := range h.instances {
		sum += i.attempt.Holds[name]
	}
	return sum
}

// startable is how many more instances of the job the resources allow: on one host, or of the whole farm
// with host nil. A negative number is no bound.
func (f *Farm) startable(n needs, h *host) int {
	bound := -1
	for name, each := range n.takes {
		if each <= 0 || strings.HasPrefix(name, "host.") != (h != nil) {
			continue
		}
		var left int64
		if h != nil {
			left = h.stock(name) - h.held(name)
		} else {
			left = f.policy.Resources[name]
			for _, other := range f.hosts {
				left -= other.held(name)
			}
		}
		if count := int(max(0, left) / each); bound < 0 || count < bound {
			bound = count
		}
	}
	return bound
}

// property looks a host's or job's property up for a requirement.
func (f *Farm) property(h *host, j *job, except *instance) agenda.Lookup {
	return func(name string) (agenda.Value, bool) {
		if v, ok := jobProperty(j, name); ok {
			return v, true
		}
		return h.property(name, except)
	}
}

func jobProperty(j *job, name string) (agenda.Value, bool) {
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
	}
	return agenda.Value{}, false
}

func (h *host) property(name string, except *instance) (agenda.Value, bool) {
	used := h.used
	if except != nil {
		used -= except.slots
	}
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
		return agenda.NumberValue(float64(used)), true
	case "host.processors.avail":
		return agenda.NumberValue(float64(max(0, h.Slots-used))), true
	case "host.memory", "host.memory.total":
		return agenda.SizeValue(h.Memory), true
	case "host.memory.avail":
		return agenda.SizeValue(h.unused()), true
	case "host.gpus":
		return agenda.NumberValue(float64(h.stock("host.gpus"))), true
	case "host.scratch":
		return agenda.SizeValue(h.stock("host.scratch")), true
	case "host.duty.id", "host.duty.user", "host.duty.name":
		return agenda.ListValue(h.duty(strings.TrimPrefix(name, "host.duty."), except)), true
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

// duty lists a property of the jobs that are on the host now.
func (h *host) duty(what string, except *instance) []string {
	var list []string
	for _, i := range h.sortedInstances() {
		if i == except {
			continue
		}
		value := fmt.Sprint(i.job.ID)
		switch what {
		case "user":
			value = i.job.User
		case "name":
			value = i.job.Name
		}
		if !slices.Contains(list, value) {
			list = append(list, value)
		}
	}
	return list
}
