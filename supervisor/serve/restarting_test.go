package serve

import (
	"testing"

	"qb/api"
)

// TestRestartedWhenListed: a restarted worker first registers, and the farm records its new identity with the next
// sync. A restart is complete only when host lists show it, because clients that wait for it read them next.
func TestRestartedWhenListed(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	admin := r.client("root", api.Admin)
	before := r.agent("h1", 1)
	before.beat(0)
	shown := func() (show api.HostSettings, listed api.Host) {
		show = must[api.HostSettings](t, admin, api.HostConfiguration, params("host", "h1"), nil)
		return show, must[[]api.Host](t, admin, api.ListHosts, nil, nil)[0]
	}
	eventually(t, "the process is shown", func() bool {
		hosts := must[[]api.Host](t, admin, api.ListHosts, nil, nil)
		return len(hosts) == 1 && hosts[0].State == "up"
	})
	if show, _ := shown(); show.Incarnation != "one" || show.Restarting {
		t.Fatalf("before: %+v", show)
	}

	after := r.agent("h1", 1)
	after.sync.Incarnation, after.sync.Cluster, after.sync.Sequence = "two", "/attic", 1
	greeted := must[api.SyncReply](t, after.client, api.SyncWorker, nil, after.sync)
	if show, listed := shown(); show.Incarnation != "one" || !show.Restarting || listed.Cluster != "/" {
		t.Errorf("it has greeted: %+v, listed in %s", show, listed.Cluster)
	}
	after.sync.Heard, after.sync.Epoch = greeted.Answer, greeted.Epoch
	after.beat(0)
	eventually(t, "it has started again", func() bool {
		show, listed := shown()
		if show.Incarnation == "two" && listed.Cluster != "/attic" {
			t.Errorf("it has started again, and is listed in %s", listed.Cluster)
		}
		return show.Incarnation == "two" && !show.Restarting
	})
}
