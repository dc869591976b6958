package lists

import (
	"cmp"
	"math"
	"strings"

	"qb/agenda"
	"qb/api"
)

// Hosts are the fields of hosts, under the names that requirements of jobs have for them, and without the "host."
// before those.
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
	return Field[api.Host]{Name: name, Kind: agenda.KindText, Of: func(h *api.Host) agenda.Value {
		return agenda.TextValue(of(h))
	}}
}

func hostNumber(name string, of func(*api.Host) int) Field[api.Host] {
	return Field[api.Host]{Name: name, Kind: agenda.KindNumber, Of: func(h *api.Host) agenda.Value {
		return agenda.NumberValue(float64(of(h)))
	}}
}

func hostSize(name string, of func(*api.Host) int64) Field[api.Host] {
	return Field[api.Host]{Name: name, Kind: agenda.KindSize, Of: func(h *api.Host) agenda.Value {
		return agenda.SizeValue(of(h))
	}}
}

func short(list []Field[api.Host]) (without []Field[api.Host]) {
	for _, f := range list {
		f.Name = strings.TrimPrefix(f.Name, "host.")
		without = append(without, f)
	}
	return without
}

// Wanted is a part of a list.
type Wanted struct {
	Expression, Sort, After string
	Fields                  []string
	Limit                   int // 0: all
}

// PageOfHosts are the hosts of a page, and the place of the next one; "" after the last.
func PageOfHosts(all []api.Host, w Wanted) (rows []api.Host, next string, err error) {
	filter, err := Hosts.Filter(w.Expression)
	if err = cmp.Or(err, CheckMembers[api.Host](w.Fields)); err != nil {
		return nil, "", err
	}
	order, err := Hosts.Order(cmp.Or(w.Sort, "name"), "name")
	if err != nil {
		return nil, "", err
	}
	page, err := NewPage[api.Host, int](order, w.After, cmp.Or(w.Limit, math.MaxInt))
	if err != nil {
		return nil, "", err
	}
	for n := range all {
		if filter.Passes(Hosts.Lookup(&all[n])) {
			page.Add(&all[n], func() int { return n })
		}
	}
	places, next := page.Rows()
	rows = make([]api.Host, 0, len(places))
	for _, n := range places {
		rows = append(rows, all[n])
	}
	return rows, next, nil
}
