package service

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
)

// twoLive is what a leader reports, and the rows that agree with it.
func twoLive() ([]api.Host, []facts.AttemptFacts) {
	attempt := func(item facts.ItemNo, instance int, devices ...int) facts.AttemptFacts {
		return facts.AttemptFacts{RunFacts: facts.RunFacts{AttemptID: facts.AttemptID{Job: 7, Item: item, Number: 2}, Host: "h1", Instance: instance, Slots: 2, Memory: 1 << 30,
			Holds: map[string]int64{"host.gpus": 1, "license.nuke": 1}, Devices: devices, State: facts.Running},
		}
	}
	rows := []facts.AttemptFacts{attempt(0, 0, 3), attempt(1, 1, 4)}
	host := api.Host{Name: "h1", Slots: api.SlotCounts{Total: 8, Used: 4}, Memory: api.HostMemory{Promised: 2 << 30}}
	for _, a := range rows {
		host.Instances = append(host.Instances, api.HostInstance{Job: 7, Kind: "primary", Number: int(a.Item), Attempt: 2, Instance: a.Instance,
			Slots: 2, Memory: 1 << 30, Holds: a.Holds, Devices: a.Devices})
	}
	return []api.Host{host, {Name: "h2"}}, rows
}

// Each thing that a leader may count otherwise than the rows is named, with its item.
func TestRecountNamesEachDifference(t *testing.T) {
	if hosts, rows := twoLive(); len(differences(hosts, rows)) != 0 {
		t.Fatalf("found %v", differences(hosts, rows))
	}
	for name, tc := range map[string]struct {
		item   int
		says   string
		damage func(*api.Host, []facts.AttemptFacts) []facts.AttemptFacts
	}{
		"a live attempt's row removed": {0, "no row of it is live", func(_ *api.Host, rows []facts.AttemptFacts) []facts.AttemptFacts { return rows[1:] }},
		"another slot in the row":      {1, "with 3 slots", func(_ *api.Host, rows []facts.AttemptFacts) []facts.AttemptFacts { rows[1].Slots = 3; return rows }},
		"less memory in the row":       {1, "5 bytes", func(_ *api.Host, rows []facts.AttemptFacts) []facts.AttemptFacts { rows[1].Memory = 5; return rows }},
		"a licence less in the row": {0, "license.nuke", func(_ *api.Host, rows []facts.AttemptFacts) []facts.AttemptFacts {
			rows[0].Holds = map[string]int64{"host.gpus": 1}
			return rows
		}},
		"another device in the row": {0, "devices [9]", func(_ *api.Host, rows []facts.AttemptFacts) []facts.AttemptFacts {
			rows[0].Devices = []int{9}
			return rows
		}},
		"another host in the row": {1, "on h2", func(_ *api.Host, rows []facts.AttemptFacts) []facts.AttemptFacts { rows[1].Host = "h2"; return rows }},
		"an attempt the leader forgot": {1, "does not count it", func(h *api.Host, rows []facts.AttemptFacts) []facts.AttemptFacts {
			h.Instances = h.Instances[:1]
			h.Slots.Used, h.Memory.Promised = 2, 1<<30
			return rows
		}},
		"slots that no instance of it holds": {-1, "counts 5 slots", func(h *api.Host, rows []facts.AttemptFacts) []facts.AttemptFacts { h.Slots.Used = 5; return rows }},
		"memory that none was promised":      {-1, "counts 4 slots and 1 bytes", func(h *api.Host, rows []facts.AttemptFacts) []facts.AttemptFacts { h.Memory.Promised = 1; return rows }},
	} {
		hosts, rows := twoLive()
		rows = tc.damage(&hosts[0], rows)
		found := differences(hosts, rows)
		named := false
		for text, p := range found {
			item := -1
			if p.Item != nil {
				item = int(*p.Item)
			}
			named = named || item == tc.item && strings.Contains(text, tc.says)
		}
		if !named || len(found) != 1 {
			t.Errorf("%s: found %v", name, found)
		}
	}
}

// What is on its way is no difference; what lasts is; a supervisor that does not answer leaves it open.
func TestRecountWaits(t *testing.T) {
	hosts, rows := twoLive()
	late := 0
	r := recount{every: time.Millisecond, patience: time.Hour,
		hosts: func() ([]api.Host, error) { return hosts, nil },
		rows: func() ([]facts.AttemptFacts, error) {
			late++
			return rows[:min(late, len(rows))], nil
		}}
	if found, err := r.run(t.Context()); err != nil || len(found) != 0 || late != 2 {
		t.Errorf("found %v, %v, after %d looks", found, err, late)
	}
	r.patience = 20 * time.Millisecond
	r.rows = func() ([]facts.AttemptFacts, error) { late++; return append(slices.Clone(rows[:1]), rows[late%2]), nil }
	if found, err := r.run(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("a difference that comes and goes: %v, %v", found, err)
	}
	r.rows = func() ([]facts.AttemptFacts, error) { return rows[:1], nil }
	if found, err := r.run(t.Context()); err != nil || len(found) != 1 {
		t.Errorf("one that lasts: %v, %v", found, err)
	}
	r.hosts = func() ([]api.Host, error) { return nil, errors.New("nobody leads") }
	var skipped *notCompared
	if _, err := r.run(t.Context()); !errors.As(err, &skipped) {
		t.Errorf("without a leader: %v", err)
	}
}
