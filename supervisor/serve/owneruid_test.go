package serve

import (
	"os"
	"testing"

	"qb/api"
)

// TestOwnersUIDIsProved: a worker gets the owner's uid only if the owner submitted over the unix socket, where the
// kernel provides it. A token, or a submission for another user, proves the name only.
func TestOwnersUIDIsProved(t *testing.T) {
	r := startRig(t)
	socket, err := api.NewClient("unix:"+r.socket, "")
	if err != nil {
		t.Fatal(err)
	}
	me := must[api.Ping](t, socket, api.PingFarm, nil, nil).User
	withToken, err := api.NewClient("unix:"+r.socket, r.token(me, api.User))
	if err != nil {
		t.Fatal(err)
	}
	submit := func(c *api.Client, owner string) int64 {
		return must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Command: []string{"render"}, User: owner}).Job
	}
	proved := map[int64]bool{
		submit(socket, ""): true, submit(socket, me): true, submit(socket, "somebody"): false,
		submit(r.client(me, api.User), ""): false, submit(withToken, ""): false,
	}
	h := r.agent("h1", len(proved))
	specs := map[int64]api.JobSpec{}
	h.until("all run", func() bool {
		for _, spec := range h.beat(0.2).Jobs {
			specs[spec.Job] = spec
		}
		return len(specs) == len(proved)
	})
	for job, want := range proved {
		if uid := specs[job].UID; (uid != nil) != want || want && *uid != int64(os.Getuid()) {
			t.Errorf("job %d: uid %v, proved: %v", job, uid, want)
		}
	}
}

// An item whose owner is another user on the host runs elsewhere, without using a retry.
func TestItemOfADifferentUID(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	client := r.client("mara", api.User)
	must[api.SubmitReply](t, client, api.Submit, nil, api.SubmitRequest{Command: []string{"render"}, Range: "1"})
	h := r.agent("h1", 1)
	h.until("it starts", func() bool { return len(h.running) == 1 })
	for id, i := range h.running {
		h.finished = []api.Finished{{Attempt: id, Instance: i.Instance, Outcome: "refused", Code: "uid_differs",
			Reason: "this host cannot run the item: \"mara\" has the uid 7 here"}}
		delete(h.running, id)
	}
	h.beat(0)
	other := r.agent("h2", 1)
	other.until("it starts elsewhere", func() bool { return len(other.running) == 1 })
	list := must[[]api.Attempt](t, client, api.Attempts, params("job", 1), nil)
	if len(list) != 2 || list[0].State != "lost" || list[0].Code != "uid_differs" || list[1].Host != "h2" {
		t.Errorf("attempts %+v", list)
	}
	if h.beat(0); len(h.running) > 0 {
		t.Errorf("the host that refused it is to run %v", h.running)
	}
}
