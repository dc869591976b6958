package central

import (
	"encoding/json"
	"testing"
	"time"

	"qb/api"
)

func section(pairs ...string) Section {
	s := Section{}
	for n := 0; n < len(pairs); n += 2 {
		s[pairs[n]] = json.RawMessage(pairs[n+1])
	}
	return s
}

var file = &Sections{
	File:    "workers.conf",
	Default: section("worker_cpus", "8", "worker_cluster", `"/all"`),
	Groups:  map[string]Section{"big": section("worker_cpus", "32", "worker_spec", "2"), "gpu": section("worker_spec", "3")},
	Hosts:   map[string]Section{"rn01": section("worker_cpus", "16", "worker_groups", `["big"]`), "rn02": section("worker_cpus", "4")},
}

// The host's section comes before those of its groups, and these before the default. The file may give a host its groups.
func TestFor(t *testing.T) {
	for _, c := range []struct {
		host       string
		groups     []string
		key, value string
		from, spec string
	}{
		{"rn09", nil, "worker_cpus", "8", "default", ""},
		{"rn09", []string{"big"}, "worker_cpus", "32", "group.big", "2"},
		{"rn09", []string{"gpu", "big"}, "worker_cpus", "32", "group.big", "3"},
		{"rn01", nil, "worker_cpus", "16", "host.rn01", "2"},
		{"rn02", []string{"big"}, "worker_cpus", "4", "host.rn02", "2"},
	} {
		values, from := file.For(c.host, c.groups)
		if string(values[c.key]) != c.value || from[c.key] != c.from || string(values["worker_spec"]) != c.spec {
			t.Errorf("%+v: %s %v", c, values, from)
		}
	}
	if values, _ := (*Sections)(nil).For("rn01", nil); len(values) != 0 {
		t.Errorf("%v", values)
	}
}

func TestVersion(t *testing.T) {
	a, b := file.Central("rn09", nil), file.Central("rn08", nil)
	if a.Version == "" || a.Version != b.Version || a.Version == file.Central("rn02", nil).Version {
		t.Error("equal values have one version, others another")
	}
	if (*Sections)(nil).Central("rn01", nil).Version != "" {
		t.Error("nothing has no version")
	}
	if !file.Same(file) || file.Same(nil) || !(*Sections)(nil).Same(nil) {
		t.Error("same")
	}
}

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// A worker is asked to start again until it has or says why not, and for a minute at most.
func TestRestart(t *testing.T) {
	var w Workers
	said := []api.Setting{{Key: "worker_cpus"}}
	hear := func(now time.Time, in api.Sync) string {
		in.Host = "rn01"
		var reply api.SyncReply
		w.Configure(now, &in, &reply)
		return reply.Restart
	}
	if _, known := w.Restart(noon, "rn01"); known {
		t.Error("a worker that has not been heard is known")
	}
	hear(noon, api.Sync{Incarnation: "a", Settings: said})
	first, known := w.Restart(noon, "rn01")
	order := hear(noon, api.Sync{Incarnation: "a"})
	if !known || first.Incarnation != "a" || order == "" || hear(noon, api.Sync{Incarnation: "a", Settings: said}) != order {
		t.Errorf("%+v: order %q", first, order)
	}
	if hear(noon, api.Sync{Incarnation: "a", RestartOrder: "an older one", RestartError: "no"}) != order {
		t.Error("the answer to another order counts")
	}
	if again := hear(noon, api.Sync{Incarnation: "a", RestartOrder: order, RestartError: "worker_cpus = -1"}); again != "" {
		t.Error("it is asked again after it has refused")
	}
	if show, _ := w.Show(noon, "rn01", "a"); show.Restarting || show.RestartError != "worker_cpus = -1" || show.Incarnation != "a" {
		t.Errorf("%+v", show)
	}
	w.Restart(noon, "rn01")
	if show, _ := w.Show(noon, "rn01", "a"); !show.Restarting || show.RestartError != "" {
		t.Errorf("ordered again: %+v", show)
	}
	if hear(noon, api.Sync{Incarnation: "b", RestartOrder: order, RestartError: "no"}) != "" {
		t.Error("the new process is asked, too")
	}
	if show, _ := w.Show(noon, "rn01", "a"); !show.Restarting || show.RestartError != "" || show.Incarnation != "a" {
		t.Errorf("it has greeted: %+v", show)
	}
	if show, _ := w.Show(noon, "rn01", "b"); show.Restarting || show.RestartError != "" || show.Incarnation != "b" {
		t.Errorf("it has started again: %+v", show)
	}
	w.Restart(noon, "rn01")
	if late := noon.Add(restartWithin); hear(late, api.Sync{Incarnation: "b"}) != "" {
		t.Error("it is asked long after")
	} else if show, _ := w.Show(late, "rn01", "b"); show.Restarting {
		t.Error("and shown so")
	}
}

func TestShow(t *testing.T) {
	var w Workers
	w.File.Store(file)
	var reply api.SyncReply
	w.Configure(noon, &api.Sync{Host: "rn02", Central: file.Central("rn02", nil).Version, Settings: []api.Setting{{Key: "worker_cpus", Value: "2", Origin: "own"}, {Key: "worker_cluster", Value: "/all", Origin: "central"}}}, &reply)
	if reply.Central != nil {
		t.Errorf("again: %+v", reply.Central)
	}
	if w.Configure(noon, &api.Sync{Host: "rn04"}, &reply); reply.Central != nil {
		t.Errorf("a worker that has not said yet which groups it has gets %+v", reply.Central)
	}
	if w.Configure(noon, &api.Sync{Host: "rn04", OwnGroups: []string{"gpu"}, Settings: []api.Setting{{Key: "worker_cpus"}}}, &reply); reply.Central == nil || string(reply.Central.Values["worker_spec"]) != "3" {
		t.Errorf("a worker that has nothing yet: %+v", reply.Central)
	}
	reply.Central = nil
	if w.Configure(noon, &api.Sync{Host: "rn04", Central: file.Central("rn04", []string{"gpu"}).Version, CentralError: "no"}, &reply); reply.Central != nil {
		t.Errorf("one that has taken it, and says no more of its settings: %+v", reply.Central)
	}
	if show, known := w.Show(noon, "rn04", ""); !known || show.Error != "no" || len(show.Settings) != 1 {
		t.Errorf("%+v", show)
	}
	show, known := w.Show(noon, "rn02", "")
	if !known || show.Pending || len(show.Ignored) != 1 || show.Ignored[0] != (api.Setting{Key: "worker_cpus", Value: "4", Origin: "host.rn02"}) || show.Settings[1].Origin != "default" {
		t.Errorf("%+v", show)
	}
	if _, known := w.Show(noon, "rn03", ""); known {
		t.Error("a host that said nothing")
	}
}
