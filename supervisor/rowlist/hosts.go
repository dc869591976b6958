package rowlist

import (
	"strings"

	"qb/agenda"
	"qb/api"
)

// Hosts are the fields of hosts, under the names that requirements of jobs have for them, and without the "host." before those.
var Hosts = NewFields(append(hostFields, short(hostFields)...))

var hostFields = []Field[api.Host]{
	hostText("host.name", func(h *api.Host) string { return h.Name }),
	hostText("host.state", func(h *api.Host) string { return h.State }),
	hostText("host.cluster", func(h *api.Host) string { return h.Cluster }),
	{Name: "host.groups", Kind: agenda.KindList, Of: func(h *api.Host) agenda.Value { return agenda.ListValue(h.Groups) }},
	hostText("host.code", func(h *api.Host) string { return h.Code }),
	hostNumber("host.processors", func(h *api.Host) int { return h.Slots.Total }),
	hostNumber("host.processors.total", func(h *api.Host) int { return h.Slots.Total }),
	hostNumber("host.processors.used", func(h *api.Host) int { return h.Slots.Used }),
	hostNumber("host.processors.avail", func(h *api.Host) int { return max(0, h.Slots.Total-h.Slots.Used) }),
	hostNumber("host.instances", func(h *api.Host) int { return len(h.Instances) }),
	hostNumber("host.gpus", func(h *api.Host) int { return h.Resources["gpus"] }),
	hostSize("host.memory", func(h *api.Host) int64 { return h.Memory.Total }),
	hostSize("host.memory.total", func(h *api.Host) int64 { return h.Memory.Total }),
	hostSize("host.memory.avail", func(h *api.Host) int64 { return h.Memory.Available }),
	hostSize("host.memory.promised", func(h *api.Host) int64 { return h.Memory.Promised }),
	hostSize("host.swap", func(h *api.Host) int64 { return h.Swap.Total }),
}

func hostText(name string, of func(*api.Host) string) Field[api.Host] {
	return Field[api.Host]{Name: name, Kind: agenda.KindText, Of: func(h *api.Host) agenda.Value { return agenda.TextValue(of(h)) }}
}

func hostNumber(name string, of func(*api.Host) int) Field[api.Host] {
	return Field[api.Host]{Name: name, Kind: agenda.KindNumber, Of: func(h *api.Host) agenda.Value { return agenda.NumberValue(float64(of(h))) }}
}

func hostSize(name string, of func(*api.Host) int64) Field[api.Host] {
	return Field[api.Host]{Name: name, Kind: agenda.KindSize, Of: func(h *api.Host) agenda.Value { return agenda.SizeValue(of(h)) }}
}

func short(list []Field[api.Host]) (without []Field[api.Host]) {
	for _, f := range list {
		f.Name = strings.TrimPrefix(f.Name, "host.")
		without = append(without, f)
	}
	return without
}
