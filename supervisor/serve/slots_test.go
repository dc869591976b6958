package serve

import (
	"testing"

	"qb/api"
)

// TestSlotMap: the map shows what runs, the map of one host shows each instance, and an unknown host is not found.
func TestSlotMap(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c, reader := r.client("ana", api.User), r.client("cy", api.ReadOnly)
	host := r.agent("h1", 8)
	must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-100", CPUs: new(2),
		MaxCPUs: new(6)})
	look := func() api.SlotMapReply { return must[api.SlotMapReply](t, reader, api.SlotMap, nil, nil) }
	host.until("six instances", func() bool {
		m, all := look(), 0
		for _, n := range m.Count {
			all += n
		}
		return all == 6
	})
	m := look()
	if len(m.Hosts) != 1 || m.Hosts[0] != "h1" || m.Slots[0] != 8 || m.States != "u" || m.Runs[0] != 2 ||
		m.Kinds != "ps" || m.Count[0] != 2 || m.Count[1] != 4 || m.Jobs[0] != 1 || m.Jobs[1] != 0 {
		t.Errorf("two primary and four secondary instances of job 1 on a host of 8 slots: %+v", m)
	}
	h := must[api.Host](t, reader, api.GetHost, params("host", "h1"), nil)
	if len(h.Instances) != 6 || h.Slots.Used != 6 || h.Instances[0].Item == "" || h.Instances[0].State != "active" ||
		h.Instances[0].ItemStartedAt == nil {
		t.Errorf("%+v", h)
	}
	refused(t, api.KindNotFound, reader, api.GetHost, params("host", "h2"), nil)
}
