package serve

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/access/credentials"
)

// enrolment is what the worker with that key asks a token with.
func enrolment(host string, private ed25519.PrivateKey) api.Enrolment {
	e := api.Enrolment{Protocol: api.Protocol, Host: host, MachineID: "machine-" + host, StateID: "state-" + host,
		PublicKey: private.Public().(ed25519.PublicKey), Time: time.Now().Unix()}
	e.Signature = ed25519.Sign(private, e.Signed())
	return e
}

// joinToken makes a join token with this number of uses.
func (r *rig) joinToken(uses int) (*api.Client, string) {
	r.t.Helper()
	made := must[api.TokenReply](r.t, r.client("root", api.Admin), api.CreateToken, nil,
		api.TokenRequest{User: "worker", Role: "worker", TTLSeconds: 3600, Uses: uses})
	c, err := api.NewClient(r.url, made.Token)
	if err != nil {
		r.t.Fatal(err)
	}
	return c, made.ID
}

func (r *rig) usesLeft(id string) int {
	r.t.Helper()
	for _, one := range must[[]api.TokenInfo](r.t, r.client("root", api.Admin), api.ListTokens, nil, nil) {
		if one.ID == id && one.UsesLeft != nil {
			return *one.UsesLeft
		}
	}
	return -1
}

func newKey() ed25519.PrivateKey {
	_, private, _ := ed25519.GenerateKey(nil)
	return private
}

// TestJoinWithAWrongClock: a machine whose clock is a day off is refused with that reason, and does not use up its join
// token.
func TestJoinWithAWrongClock(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	join, id := r.joinToken(1)
	for _, off := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		private := newKey()
		e := enrolment("a", private)
		e.Time += int64(off.Seconds())
		e.Signature = ed25519.Sign(private, e.Signed())
		if text := refused(t, api.KindInvalid, join, api.Enrol, nil, e); !strings.Contains(text,
			"clock is off by 24h0m0s; set it") {
			t.Errorf("off by %s: %s", off, text)
		}
	}
	if left := r.usesLeft(id); left != 1 {
		t.Errorf("%d uses are left of one", left)
	}
}

// TestUsesOfAJoinToken: a join token admits as many hosts as its number of uses. A repeated call counts once, and the
// refusal of the next host names the remedy. The token opens no other endpoint and cannot make another join token.
func TestUsesOfAJoinToken(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	join, id := r.joinToken(2)
	a, b := newKey(), newKey()
	for range 3 {
		must[api.EnrolReply](t, join, api.Enrol, nil, enrolment("a", a))
	}
	if left := r.usesLeft(id); left != 1 {
		t.Errorf("%d uses are left after one host", left)
	}
	must[api.EnrolReply](t, join, api.Enrol, nil, enrolment("b", b))
	if text := refused(t, api.KindForbidden, join, api.Enrol, nil, enrolment("c", newKey())); !strings.Contains(text,
		"qbadmin worker token -uses") {
		t.Errorf("used up: %s", text)
	}
	rows := must[[]api.AuditEntry](t, r.client("root", api.Admin), api.AuditLog, params("user", "worker"), nil)
	if len(rows) == 0 || rows[0].Token != id || !strings.HasSuffix(rows[0].Object, " of host b") ||
		!strings.Contains(string(rows[0].Detail), id) {
		t.Errorf("who joined is not in the trail: %+v", rows)
	}
	own := must[api.EnrolReply](t, join, api.Enrol, nil, enrolment("a", a)) // its answer may have been lost
	if left := r.usesLeft(id); left != 0 {
		t.Errorf("%d uses are left", left)
	}
	host := r.agent("c", 1)
	sync := host.sync
	sync.Sequence = 1
	refused(t, api.KindForbidden, join, api.SyncWorker, nil, sync)
	refused(t, api.KindConflict, r.client("root", api.Admin), api.RotateToken, params("token", id), api.RotateRequest{})
	renewing, err := api.NewClient(r.url, own.Token)
	if err != nil {
		t.Fatal(err)
	}
	must[api.EnrolReply](t, renewing, api.Enrol, nil, enrolment("a", a))
	refused(t, api.KindInvalid, r.client("root", api.Admin), api.CreateToken, nil,
		api.TokenRequest{User: "worker", Role: "worker", Uses: credentials.UsesMost + 1})
}

// Hosts that join at the same time take a use each, and no more join than may. The same host twice at once is one.
func TestManyJoinAtOnce(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	join, id := r.joinToken(3)
	same, sameID := r.joinToken(5)
	twin := newKey()
	var joined, usedUp atomic.Int32
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			var refusal *api.Error
			for {
				switch err := join.Call(t.Context(), api.Enrol, nil, enrolment(fmt.Sprint("h", n), newKey()), nil); {
				case err == nil:
					joined.Add(1)
				case errors.As(err, &refusal) && refusal.Kind == api.KindUnavailable:
					continue
				case errors.As(err, &refusal) && refusal.Kind == api.KindForbidden:
					usedUp.Add(1)
				default:
					t.Error(err)
				}
				return
			}
		})
		all.Go(func() {
			if err := same.Call(t.Context(), api.Enrol, nil, enrolment("twin", twin), nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if joined.Load() != 3 || usedUp.Load() != 5 || r.usesLeft(id) != 0 || r.usesLeft(sameID) != 4 {
		t.Errorf("%d joined, %d were refused, %d uses are left; of the twin's %d", joined.Load(), usedUp.Load(),
			r.usesLeft(id), r.usesLeft(sameID))
	}
}

// A host that is removed has no rights from then on: its held sync ends, and its token is refused. Its item waits for
// its lease, so the host is listed until then; an idle host is gone at once.
func TestRemoveALivingHost(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	admin := r.client("root", api.Admin)
	busy, idle := r.enrolled("busy"), r.enrolled("idle")
	busy.beat(0)
	idle.beat(0)
	must[api.SubmitReply](t, admin, api.Submit, nil,
		api.SubmitRequest{Command: []string{"render"}, Hosts: []string{"busy"}})
	busy.until("it runs", func() bool { return len(busy.running) == 1 })
	held := make(chan error, 1)
	sync := busy.sync
	sync.Sequence += 100
	sync.HoldSeconds = 60
	sync.Instances = nil
	for _, one := range busy.running {
		sync.Instances = append(sync.Instances, one)
	}
	go func() { held <- busy.client.Call(t.Context(), api.SyncWorker, nil, sync, nil) }()
	time.Sleep(300 * time.Millisecond) // that it is held is likely, and no matter if it is not
	if reply := must[api.HostReply](t, admin, api.RemoveHost, params("host", "busy"), nil); reply.Pending != 1 ||
		reply.WaitSeconds <= 0 {
		t.Errorf("removed: %+v", reply)
	}
	if err := <-held; err == nil {
		t.Error("a held sync was answered after the removal")
	}
	sync.Sequence++
	refused(t, api.KindUnauthorized, busy.client, api.SyncWorker, nil, sync)
	refused(t, api.KindConflict, admin, api.UnlockHost, params("host", "busy"), nil)
	if reply := must[api.HostReply](t, admin, api.RemoveHost, params("host", "idle"), nil); reply.Pending != 0 {
		t.Errorf("removed: %+v", reply)
	}
	refused(t, api.KindUnauthorized, idle.client, api.SyncWorker, nil, idle.sync)
	hosts := must[[]api.Host](t, admin, api.ListHosts, nil, nil)
	if len(hosts) != 1 || hosts[0].Name != "busy" || hosts[0].Code != "being_removed" {
		t.Errorf("listed are %+v", hosts)
	}
}

// A name that a living host on another machine has is refused before a use of the token is taken, and both are shown.
func TestJoinWithTheNameOfAnother(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	here := r.enrolled("rn1")
	here.beat(0)
	eventually(t, "rn1 is listed as up", func() bool { // names are judged by the view, which follows the sync
		hosts := must[[]api.Host](t, r.client("root", api.Admin), api.ListHosts, nil, nil)
		return len(hosts) == 1 && hosts[0].State == "up"
	})
	join, id := r.joinToken(1)
	other := newKey()
	e := api.Enrolment{Protocol: api.Protocol, Host: "rn1", MachineID: "elsewhere", StateID: "s2",
		PublicKey: other.Public().(ed25519.PublicKey), Time: time.Now().Unix()}
	e.Signature = ed25519.Sign(other, e.Signed())
	text := refused(t, api.KindConflict, join, api.Enrol, nil, e)
	for _, want := range []string{"m-rn1", "elsewher", "127.0.0.1", "-name", "qbadmin worker -remove rn1",
		fmt.Sprintf("%.4x", e.PublicKey)} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in: %s", want, text)
		}
	}
	if left := r.usesLeft(id); left != 1 {
		t.Errorf("%d uses are left", left)
	}
}
