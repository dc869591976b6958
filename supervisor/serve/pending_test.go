package serve

import (
	"crypto/ed25519"
	"encoding/hex"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/access/credentials"
	"qb/supervisor/wire/settings"
)

// With supervisor_approve_hosts a host that joins holds its place and waits: its token is good for nothing, and qbhosts
// shows it with its key, until an admin approves it. Then it is a host like others, and joins again without a person.
func TestHostWaitsForApproval(t *testing.T) {
	t.Parallel()
	r := startRig(t, func(c *settings.Config, _ *Options) { c.ApproveHosts = true })
	admin := r.client("root", api.Admin)
	join, id := r.joinToken(2)
	key := newKey()
	worker := r.agent("h1", 1)
	worker.sync.StateID = "state-h1"
	worker.client.UseToken(must[api.EnrolReply](t, join, api.Enrol, nil, enrolment("h1", key)).Token)
	if left := r.usesLeft(id); left != 1 {
		t.Errorf("it holds no place: %d uses are left of two", left)
	}
	pending := func(what api.Endpoint, body any) {
		t.Helper()
		err := worker.client.Call(t.Context(), what, params("x", "1"), body, nil)
		if got := api.Refusal(err); got.Code != api.CodeHostPending ||
			!strings.Contains(got.Text, "qbadmin worker -approve h1") {
			t.Errorf("%s of a host that waits: %v", what.ID, err)
		}
	}
	worker.sync.Sequence++
	pending(api.SyncWorker, worker.sync)
	pending(api.AppendLog, api.LogChunk{})
	pending(api.Enrol, enrolment("h1", key))
	shown := func() api.Host {
		t.Helper()
		var found api.Host
		eventually(t, "qbhosts lists it", func() bool { // a host is in no list between its admission and the next view
			for _, h := range must[[]api.Host](t, r.client("viewer", api.ReadOnly), api.ListHosts, nil, nil) {
				if h.Name == "h1" {
					found = h
				}
			}
			return found.Name != ""
		})
		return found
	}
	fingerprint := credentials.Fingerprint(hexOf(key))
	if h := shown(); h.State != "pending" || h.Code != "awaits_approval" || !strings.Contains(h.Remark, fingerprint) {
		t.Errorf("listed as %+v", h)
	}
	must[api.EnrolReply](t, join, api.Enrol, nil, enrolment("h1", key)) // its answer may have been lost
	if left := r.usesLeft(id); left != 1 {
		t.Errorf("%d uses are left after it repeated its call", left)
	}
	refused(t, api.KindForbidden, r.client("op", api.Operator), api.ApproveHost, params("host", "h1"), nil)
	must[api.HostReply](t, admin, api.ApproveHost, params("host", "h1"), nil)
	if text := refused(t, api.KindNotFound, admin, api.ApproveHost,
		params("host", "h1"), nil); !strings.Contains(text, `"h1"`) {
		t.Errorf("approved twice: %s", text)
	}
	must[api.SubmitReply](t, r.client("mara", api.User), api.Submit, nil, api.SubmitRequest{Command: []string{"render"}})
	worker.until("it gets an item", func() bool { return len(worker.running) == 1 })
	if h := shown(); h.State != "up" {
		t.Errorf("approved, it is listed as %+v", h)
	}
	worker.client.UseToken(must[api.EnrolReply](t, join, api.Enrol, nil, enrolment("h1", key)).Token)
	worker.beat(0) // it is known
}

// Of two machines that wait under one name a person knows only one. Removed, they need to join again; so many wait at
// most.
func TestStrangerWaitsForApproval(t *testing.T) {
	t.Parallel()
	r := startRig(t, func(c *settings.Config, _ *Options) { c.ApproveHosts = true })
	admin := r.client("root", api.Admin)
	join, _ := r.joinToken(500)
	var first string
	for range 2 {
		first = must[api.EnrolReply](t, join, api.Enrol, nil, enrolment("h1", newKey())).Token
	}
	if text := refused(t, api.KindConflict, admin, api.ApproveHost, params("host", "h1"), nil); !strings.Contains(text,
		"qbadmin worker -remove h1") {
		t.Errorf("two of one name: %s", text)
	}
	must[api.HostReply](t, admin, api.RemoveHost, params("host", "h1"), nil)
	c, err := api.NewClient(r.url, first)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, api.KindUnauthorized, c, api.Enrol, nil, enrolment("h1", newKey()))
	rows := must[[]api.AuditEntry](t, admin, api.AuditLog, params("user", "root"), nil)
	if len(rows) < 2 || rows[0].Object != "host h1" || !strings.Contains(string(rows[0].Detail), "pending") {
		t.Errorf("the removal is not in the trail: %+v", rows[:min(len(rows), 2)])
	}
	for range 200 {
		must[api.EnrolReply](t, join, api.Enrol, nil, enrolment("flood", newKey()))
	}
	if text := refused(t, api.KindLimit, join, api.Enrol, nil, enrolment("flood", newKey())); !strings.Contains(text,
		"too many hosts wait") {
		t.Errorf("beyond the limit: %s", text)
	}
}

func hexOf(private ed25519.PrivateKey) string {
	return hex.EncodeToString(private.Public().(ed25519.PublicKey))
}
