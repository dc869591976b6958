package serve

import (
	"testing"

	"qb/api"
	"qb/internal/listdigest"
)

// digestOf is the digest of a list in a sync.
func digestOf(list ...api.SyncInstance) string {
	var digest listdigest.Digest
	for _, i := range list {
		digest.Add(listdigest.Line{Job: i.Job, Instance: i.Instance, Item: i.Attempt.Item, Number: i.Attempt.Number,
			Word: i.State, Suspension: i.SuspensionID})
	}
	return digest.String()
}

// TestSyncWithDifferences: a worker says what has changed, and is answered so. Differences without the digest of the
// list that the supervisor has with them, or from a term before, are refused; the complete list is taken then.
func TestSyncWithDifferences(t *testing.T) {
	r := startRig(t)
	client := r.client("mara", api.User)
	must[api.SubmitReply](t, client, api.Submit, nil, api.SubmitRequest{Command: []string{"render"}, Range: "1-9"})
	h := r.agent("h", 4)
	h.until("four items to run", func() bool { return len(h.running) == 4 })
	h.sync.Differences = true
	if !h.beat(0).Differences {
		t.Fatal("the supervisor takes no differences")
	}
	var list []api.SyncInstance
	for _, i := range h.running {
		list = append(list, i)
	}
	heard := h.heard.Answer
	next := func(change func(*api.Sync)) api.Sync {
		s := h.sync
		s.Sequence++
		s.Heard, s.Since, s.Instances, s.Finished, s.HoldSeconds = heard, h.sync.Sequence, nil, nil, 0
		change(&s)
		h.sync.Sequence = s.Sequence
		return s
	}
	list[0].State = "hibernating" // a word of tomorrow counts as it was said
	changed := next(func(s *api.Sync) { s.Instances, s.Digest = list[:1], digestOf(list...) })
	reply := must[api.SyncReply](t, h.client, api.SyncWorker, nil, changed)
	if reply.Since != heard || len(reply.Instances)+len(reply.Gone) != 0 || !reply.Differences {
		t.Fatalf("nothing has changed in what should run, and the answer is %+v", reply)
	}
	heard = reply.Answer
	zero := 0
	ended := next(func(s *api.Sync) {
		s.Finished = []api.Finished{{Attempt: list[0].Attempt, Instance: list[0].Instance, Outcome: "exit", ExitCode: &zero, Wall: 1}}
		s.Gone, s.Digest = []api.AttemptID{list[0].Attempt}, digestOf(list[1:]...)
	})
	reply = must[api.SyncReply](t, h.client, api.SyncWorker, nil, ended)
	if reply.Since != heard || len(reply.Instances) != 1 || reply.Instances[0].Attempt == list[0].Attempt {
		t.Fatalf("after an end the answer is %+v", reply)
	}
	heard = reply.Answer
	for name, spoil := range map[string]func(*api.Sync){
		"another digest": func(s *api.Sync) { s.Digest = digestOf(list[2:]...) },
		"no digest":      func(s *api.Sync) {},
		"another term":   func(s *api.Sync) { s.Digest, s.Epoch = digestOf(list[1:]...), s.Epoch+1 },
		"a later list":   func(s *api.Sync) { s.Digest, s.Since = digestOf(list[1:]...), s.Since+9 },
		"another agent":  func(s *api.Sync) { s.Digest, s.Incarnation = digestOf(list[1:]...), "two" },
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, api.KindConflict, h.client, api.SyncWorker, nil, next(spoil))
		})
	}
	whole := next(func(s *api.Sync) { s.Since, s.Instances = 0, list[1:] })
	if reply = must[api.SyncReply](t, h.client, api.SyncWorker, nil, whole); reply.Since != heard || len(reply.Gone) > 0 {
		t.Errorf("the complete list is answered %+v", reply)
	}
	attempts := must[[]api.Attempt](t, client, api.Attempts, params("job", 1), nil)
	if len(attempts) != len(h.running)+1 {
		t.Errorf("attempts %+v", attempts)
	}
}
