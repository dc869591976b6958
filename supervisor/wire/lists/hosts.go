package lists

import (
	"cmp"
	"iter"
	"math"
	"strings"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/farm/message"
)

// Hosts are the fields of hosts, under the names that requirements of jobs have for them, and without the "host."
// before those.
var Hosts = NewFields(append(hostFields, short(hostFields)...))

var hostFields = []Field[message.HostView]{
	hostText("host.name", func(h *message.HostView) string { return string(h.ID) }),
	hostText("host.state", func(h *message.HostView) string { return h.State }),
	hostText("host.cluster", func(h *message.HostView) string { return h.Cluster }),
	{Name: "host.groups", Kind: agenda.KindList, Of: func(h *message.HostView) agenda.Value {
		return agenda.ListValue(h.Groups)
	}},
	hostText("host.code", func(h *message.HostView) string { return string(h.Code) }),
	hostNumber("host.processors", func(h *message.HostView) int { return h.Slots }),
	hostNumber("host.processors.total", func(h *message.HostView) int { return h.Slots }),
	hostNumber("host.processors.used", func(h *message.HostView) int { return h.Used }),
	hostNumber("host.processors.avail", func(h *message.HostView) int { return max(0, h.Slots-h.Used) }),
	hostNumber("host.instances", func(h *message.HostView) int { return len(h.Instances) }),
	hostNumber("host.gpus", func(h *message.HostView) int { return h.Resources["gpus"] }),
	hostSize("host.memory", func(h *message.HostView) int64 { return h.Memory }),
	hostSize("host.memory.total", func(h *message.HostView) int64 { return h.Memory }),
	hostSize("host.memory.avail", func(h *message.HostView) int64 { return h.Available }),
	hostSize("host.memory.promised", func(h *message.HostView) int64 { return h.Promised }),
	hostSize("host.swap", func(h *message.HostView) int64 { return h.Swap.Total }),
}

func hostText(name string, of func(*message.HostView) string) Field[message.HostView] {
	return Field[message.HostView]{Name: name, Kind: agenda.KindText, Of: func(h *message.HostView) agenda.Value {
		return agenda.TextValue(of(h))
	}}
}

func hostNumber(name string, of func(*message.HostView) int) Field[message.HostView] {
	return Field[message.HostView]{Name: name, Kind: agenda.KindNumber, Of: func(h *message.HostView) agenda.Value {
		return agenda.NumberValue(float64(of(h)))
	}}
}

func hostSize(name string, of func(*message.HostView) int64) Field[message.HostView] {
	return Field[message.HostView]{Name: name, Kind: agenda.KindSize, Of: func(h *message.HostView) agenda.Value {
		return agenda.SizeValue(of(h))
	}}
}

func short(list []Field[message.HostView]) (without []Field[message.HostView]) {
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
func PageOfHosts(all iter.Seq[*message.HostView], w Wanted) (rows []*message.HostView, next string, err error) {
	filter, err := Hosts.Filter(w.Expression)
	if err = cmp.Or(err, CheckMembers[api.Host](w.Fields)); err != nil {
		return nil, "", err
	}
	order, err := Hosts.Order(cmp.Or(w.Sort, "name"), "name")
	if err != nil {
		return nil, "", err
	}
	page, err := NewPage[message.HostView, *message.HostView](order, w.After, cmp.Or(w.Limit, math.MaxInt))
	if err != nil {
		return nil, "", err
	}
	for h := range all {
		if filter.Passes(Hosts.Lookup(h)) {
			page.Add(h, func() *message.HostView { return h })
		}
	}
	rows, next = page.Rows()
	return rows, next, nil
}
