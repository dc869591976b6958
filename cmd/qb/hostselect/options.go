package hostselect

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"qb/agenda"
	"qb/api"
	"qb/cmd/qb/output"
)

// Options choose hosts. The zero value chooses all.
type Options struct {
	down, active              bool
	cluster, group, resources string
}

// Bind declares the options.
func (o *Options) Bind(flags *pflag.FlagSet) {
	flags.BoolVar(&o.down, "down", false, "only hosts that do not answer: unreachable or lost")
	flags.BoolVar(&o.active, "active", false, "only hosts that answer, locked ones too")
	flags.StringVar(&o.cluster, "cluster", "", "only hosts of the cluster `PATH`; /show* takes all that begin so")
	flags.StringVar(&o.group, "group", "", "only hosts in the group `NAME`")
	flags.StringVar(&o.resources, "resources", "", "only hosts for which `EXPRESSION` holds: 'host.memory.avail >= 4GiB and host.processors > 8'")
}

// Given says whether any option chooses among hosts.
func (o *Options) Given() bool { return *o != Options{} }

// Filter is the test that the options ask for.
func (o *Options) Filter() (func(api.Host) bool, error) {
	resources, err := read("-resources", o.resources)
	if err != nil {
		return nil, err
	}
	cluster := ""
	if o.cluster != "" {
		cluster = `host.cluster = "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(o.cluster) + `"`
	}
	within, err := read("-cluster", cluster)
	if err != nil {
		return nil, err
	}
	return func(h api.Host) bool {
		down := h.State == "unreachable" || h.State == "lost"
		switch {
		case (o.down || o.active) && !(o.down && down || o.active && !down && h.State != "pending"):
			return false
		case o.group != "" && !slices.Contains(h.Groups, o.group):
			return false
		}
		return within.Passes(lookup(h)) && resources.Passes(lookup(h))
	}, nil
}

func read(option, text string) (*agenda.Filter, error) {
	f, err := agenda.ParseFilter(text, known)
	if err != nil {
		return nil, api.Errorf(api.KindUsage, "%s: %s", option, output.Escape(err.Error()))
	}
	return f, nil
}

// property is one of hosts, under the name that requirements of jobs have for it.
type property struct {
	name string
	kind agenda.PropertyKind
	of   func(api.Host) agenda.Value
}

var properties = []property{
	{"host.name", agenda.KindText, func(h api.Host) agenda.Value { return agenda.TextValue(h.Name) }},
	{"host.cluster", agenda.KindText, func(h api.Host) agenda.Value { return agenda.TextValue(h.Cluster) }},
	{"host.groups", agenda.KindList, func(h api.Host) agenda.Value { return agenda.ListValue(h.Groups) }},
	number("host.processors", func(h api.Host) int { return h.Slots.Total }),
	number("host.processors.total", func(h api.Host) int { return h.Slots.Total }),
	number("host.processors.used", func(h api.Host) int { return h.Slots.Used }),
	number("host.processors.avail", func(h api.Host) int { return max(0, h.Slots.Total-h.Slots.Used) }),
	number("host.gpus", func(h api.Host) int { return h.Resources["gpus"] }),
	size("host.memory", func(h api.Host) int64 { return h.Memory.Total }),
	size("host.memory.total", func(h api.Host) int64 { return h.Memory.Total }),
	size("host.memory.avail", func(h api.Host) int64 { return h.Memory.Available }),
	size("host.swap", func(h api.Host) int64 { return h.Swap.Total }),
}

func number(name string, of func(api.Host) int) property {
	return property{name, agenda.KindNumber, func(h api.Host) agenda.Value { return agenda.NumberValue(float64(of(h))) }}
}

func size(name string, of func(api.Host) int64) property {
	return property{name, agenda.KindSize, func(h api.Host) agenda.Value { return agenda.SizeValue(of(h)) }}
}

var known = func() (all []agenda.Property) {
	for _, p := range properties {
		all = append(all, agenda.Property{Name: p.name, Kind: p.kind})
	}
	return all
}()

func lookup(h api.Host) agenda.Lookup {
	return func(name string) (agenda.Value, bool) {
		i := slices.IndexFunc(properties, func(p property) bool { return p.name == name })
		if i < 0 {
			return agenda.Value{}, false
		}
		return properties[i].of(h), true
	}
}
