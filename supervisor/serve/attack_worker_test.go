package serve

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/wire/translate"
)

// TestAWorkersNumbersAreBounded (H3): numbers that a worker reports of a finished item are limited to possible values,
// also at registration. Reports continue, and no user is charged for years.
func TestAWorkersNumbersAreBounded(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	u1 := r.client("u1", api.User)
	worker := r.agent("h1", 2)
	worker.sync.Cores = 2
	worker.beat(0)
	id := must[api.SubmitReply](t, u1, api.Submit, nil,
		api.SubmitRequest{Command: []string{"render"}, Range: "1-2", CPUs: ptr(2)}).Job
	worker.until("two items run", func() bool { return len(worker.running) == 2 })
	for key, i := range worker.running {
		worker.finished = append(worker.finished,
			api.Finished{Attempt: key, Instance: i.Instance, Outcome: "exit", ExitCode: ptr(0),
				Wall: math.MaxFloat64, CPU: math.MaxFloat64, PeakMemory: math.MaxInt64})
		delete(worker.running, key)
	}
	worker.beat(0)
	for _, a := range must[[]api.Attempt](t, u1, api.Attempts, params("job", id), nil) {
		if a.State != "done" || a.CPUSeconds > 130 || a.PeakMemory > 8<<30 {
			t.Errorf("attempt %+v", a)
		}
	}
	must[api.Stats](t, u1, api.GetStats, nil, nil)
}

// TestAnEndInAGreetingIsBounded (H3): a stopping item ends in the first word that its worker says in a term.
func TestAnEndInAGreetingIsBounded(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	u1 := r.client("u1", api.User)
	worker := r.agent("h1", 1)
	worker.beat(0)
	id := must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"render"}}).Job
	worker.until("it runs", func() bool { return len(worker.running) == 1 })
	must[api.ActionReply](t, u1, api.OrderJob, params("job", id, "action", "kill"), nil)
	registration := worker.sync
	registration.Epoch, registration.Heard, registration.Incarnation, registration.Sequence = 0, 0, "two", 1
	for key, i := range worker.running {
		registration.Finished = []api.Finished{{Attempt: key, Instance: i.Instance, Outcome: "stopped", Wall: -1e300,
			CPU: 1e300, PeakMemory: -5}}
	}
	must[api.SyncReply](t, worker.client, api.SyncWorker, nil, registration)
	for _, a := range must[[]api.Attempt](t, u1, api.Attempts, params("job", id), nil) {
		if a.State != "killed" || a.CPUSeconds > coresBelieved || a.PeakMemory != 0 {
			t.Errorf("attempt %+v", a)
		}
	}
}

// coresBelieved is what a worker that does not say how many cores it has may use in a second.
const coresBelieved = 4096

// TestAWorkersOfferIsBounded (H3): devices, properties and the lengths of lists.
func TestAWorkersOfferIsBounded(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	for name, spoil := range map[string]func(*api.Sync){
		"gpus":     func(s *api.Sync) { s.Resources = map[string]int{"gpus": 1 << 40} },
		"negative": func(s *api.Sync) { s.Resources = map[string]int{"gpus": -1} },
		"properties": func(s *api.Sync) {
			s.Properties = map[string]string{"x": strings.Repeat("a", 4000), "y": strings.Repeat("b", 61_600)}
		},
		"many":      func(s *api.Sync) { s.Groups = make([]string, translate.MaxOffers+1) },
		"ends":      func(s *api.Sync) { s.Finished = make([]api.Finished, translate.MaxSyncList+1) },
		"instances": func(s *api.Sync) { s.Instances = make([]api.SyncInstance, translate.MaxSyncList+1) },
		"gone":      func(s *api.Sync) { s.Since, s.Gone = 1, make([]api.AttemptID, translate.MaxSyncList+1) },
		"cores":     func(s *api.Sync) { s.Cores = 1 << 30 },
	} {
		worker := r.agent("h-"+name, 1)
		worker.sync.Sequence = 1
		spoil(&worker.sync)
		refused(t, api.KindInvalid, worker.client, api.SyncWorker, nil, worker.sync)
	}
}

// enrolled is a scripted worker with a token of its own.
func (r *rig) enrolled(host string) *agent {
	r.t.Helper()
	a := r.agent(host, 2)
	a.sync.StateID = "state-" + host
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	e := api.Enrolment{Protocol: api.Protocol, Host: host, MachineID: a.sync.MachineID, StateID: a.sync.StateID,
		PublicKey: public, Time: time.Now().Unix()}
	forged := e
	forged.Signature = make([]byte, ed25519.SignatureSize)
	refused(r.t, api.KindInvalid, a.client, api.Enrol, nil, forged)
	late := e
	late.Time -= 7200
	late.Signature = ed25519.Sign(private, late.Signed())
	refused(r.t, api.KindInvalid, a.client, api.Enrol, nil, late)
	e.Signature = ed25519.Sign(private, e.Signed())
	a.token = must[api.EnrolReply](r.t, a.client, api.Enrol, nil, e).Token
	a.client.UseToken(a.token)
	return a
}

// TestATokenAdmitsOneHost (H3): a worker's token neither speaks for another host nor ships output of its attempts; a
// shared token enrols, and then speaks for enrolled hosts no more.
func TestATokenAdmitsOneHost(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	u1 := r.client("u1", api.User)
	mine, other := r.enrolled("mine"), r.enrolled("other")
	mine.beat(0)
	other.beat(0)
	id := must[api.SubmitReply](t, u1, api.Submit, nil,
		api.SubmitRequest{Command: []string{"render"}, Hosts: []string{"mine"}}).Job
	mine.until("it runs", func() bool { return len(mine.running) == 1 })
	shared := r.client("agent", api.Worker)
	chunk := api.LogChunk{Attempt: api.AttemptID{Job: id, Number: 1}, Data: []byte("\x01\x02\x00\x00\x00x\n")}
	for what, client := range map[string]*api.Client{"another worker's token": other.client, "a shared token": shared} {
		for _, boot := range []string{mine.sync.BootID, "another boot"} {
			s := mine.sync
			s.Incarnation, s.Sequence, s.Epoch, s.BootID = what+boot, 1, 0, boot
			refused(t, api.KindConflict, client, api.SyncWorker, nil, s)
		}
		refused(t, api.KindForbidden, client, api.AppendLog, nil, chunk)
	}
	must[api.LogReply](t, mine.client, api.AppendLog, nil, chunk)
	mine.beat(0)
	if len(mine.running) != 1 {
		t.Error("the host's item does not run on")
	}
}

// TestAKeyIsOneHost (H3): who has a worker's token makes up no hosts with it, neither on other machines nor on the
// host's own, while a worker whose name changed goes on under its new one.
func TestAKeyIsOneHost(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	u1 := r.client("u1", api.User)
	mine := r.enrolled("mine")
	mine.beat(0)
	must[api.SubmitReply](t, u1, api.Submit, nil,
		api.SubmitRequest{Command: []string{"render"}, Range: "1-20", CPUs: ptr(2), MaxCPUs: ptr(20)})
	mine.until("two items run", func() bool { return len(mine.running) == 2 })
	for n := range 9 {
		ghost := mine.sync
		ghost.Host, ghost.Incarnation, ghost.Sequence, ghost.Finished, ghost.Instances = fmt.Sprintf("ghost-%d", n),
			fmt.Sprint("ghost", n), 1, nil, nil
		ghost.StateID = "state-" + ghost.Host
		if n%3 > 0 {
			ghost.BootID = "boot-" + ghost.Host
		}
		if n%3 > 1 {
			ghost.MachineID = "m-" + ghost.Host
		}
		for _, epoch := range []int64{0, mine.sync.Epoch} { // a registration, and the sync after it
			ghost.Epoch, ghost.Sequence = epoch, ghost.Sequence+1
			var refusal *api.Error
			err := mine.client.Call(t.Context(), api.SyncWorker, nil, ghost, nil)
			if !errors.As(err, &refusal) || refusal.Code != api.CodeNameTaken {
				t.Fatalf("host %s with the key of host mine: %v", ghost.Host, err)
			}
			for _, said := range []string{`"mine"`, strconv.Quote(ghost.Host), "qbadmin worker -remove mine"} {
				if !strings.Contains(refusal.Text, said) {
					t.Errorf("%s is not named to host %s: %s", said, ghost.Host, refusal.Text)
				}
			}
		}
	}
	var hosts []api.Host
	listed := func(name string) func() bool {
		return func() bool { // a view is up to a second old
			hosts = must[[]api.Host](t, u1, api.ListHosts, nil, nil)
			return len(hosts) == 1 && hosts[0].Name == name && len(hosts[0].Instances) == 2
		}
	}
	eventually(t, "the host is the only one, and its items run", func() bool {
		return listed("mine")() && len(hosts[0].Claims) > 0 && strings.HasPrefix(hosts[0].Claims[0].Name, "ghost-")
	})
	if resp := r.raw("GET", "/metrics", r.token("admin", api.Admin), "", nil); resp.StatusCode != 200 {
		t.Errorf("metrics: %s: %s", resp.Status, text(t, resp)) // of claims whose shortened ids are the same
	}
	mine.sync.Host, mine.sync.Incarnation, mine.sync.Sequence, mine.sync.Heard, mine.sync.Epoch = "renamed", "two", 0, 0, 0
	mine.beat(0)
	if eventually(t, "the host has its new name, and its items run", listed("renamed")); len(mine.running) != 2 {
		t.Errorf("%d items run", len(mine.running))
	}
}
