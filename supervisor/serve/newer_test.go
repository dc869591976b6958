package serve

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	"qb/api"
)

// newer is a sync of that agent as a later release might say it: with members that this one does not know.
func (a *agent) newer(change func(sync, instance map[string]any)) string {
	a.t.Helper()
	a.sync.Sequence++
	a.sync.Instances, a.sync.Finished = nil, a.finished
	for _, i := range a.running {
		a.sync.Instances = append(a.sync.Instances, i)
	}
	plain, err := json.Marshal(a.sync)
	if err != nil {
		a.t.Fatal(err)
	}
	var sync map[string]any
	reader := json.NewDecoder(bytes.NewReader(plain))
	reader.UseNumber()
	if err := reader.Decode(&sync); err != nil {
		a.t.Fatal(err)
	}
	list, _ := sync["instances"].([]any)
	list = append(list, map[string]any{})
	instance := maps.Clone(list[0].(map[string]any))
	change(sync, instance)
	if len(instance) > 0 {
		sync["instances"] = []any{instance}
	}
	body, err := json.Marshal(sync)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(body)
}

// TestNewerAgent: an agent of a later release says more than this supervisor knows, and works all the same.
func TestNewerAgent(t *testing.T) {
	r := startRig(t)
	client, token := r.client("mara", api.User), r.token("agent", api.Worker)
	must[api.SubmitReply](t, client, api.Submit, nil, api.SubmitRequest{Command: []string{"render"}, Range: "1-2"})
	h := r.agent("later", 1)
	h.until("an item to start", func() bool { return len(h.running) == 1 })
	var was api.AttemptID
	for id := range h.running {
		was = id
	}
	say := func(body string) api.SyncReply {
		t.Helper()
		resp := r.raw(http.MethodPost, api.SyncWorker.Path, token, body, nil)
		answer := text(t, resp)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("a newer agent is answered %d: %s", resp.StatusCode, answer)
		}
		return decode[api.SyncReply](t, answer)
	}
	reply := say(h.newer(func(sync, instance map[string]any) {
		sync["thermals"] = map[string]any{"celsius": 71}
		sync["memory"].(map[string]any)["swap"] = 1 << 30
		instance["state"], instance["gpu_memory"] = "hibernating", 5
		instance["attempt"].(map[string]any)["part"] = 2
	}))
	if len(reply.Instances) != 1 || reply.Instances[0].Attempt != was {
		t.Fatalf("an item in a state unknown here is not wanted any more: %+v", reply.Instances)
	}
	h.sync.Heard = reply.Answer
	h.finished = []api.Finished{{Attempt: was, Instance: h.running[was].Instance, Outcome: "evaporated",
		Reason: "too hot", Wall: 1}}
	delete(h.running, was)
	reply = say(h.newer(func(sync, _ map[string]any) {
		sync["finished"].([]any)[0].(map[string]any)["carbon"] = 0.2
	}))
	for _, d := range reply.Instances {
		if d.Attempt == was {
			t.Errorf("an end of a kind unknown here is not taken: %+v", d)
		}
	}
	list := must[[]api.Attempt](t, client, api.Attempts, params("job", 1), nil)
	if len(list) == 0 || list[0].State != "lost" || !strings.Contains(list[0].Reason, `"evaporated" (too hot)`) {
		t.Errorf("the end of a kind unknown here was written as %+v", list)
	}
}

// TestSyncIsOpen: the document allows members that it does not name, wherever agents and supervisors of
// different releases meet, and closes no list of words.
func TestSyncIsOpen(t *testing.T) {
	r := startRig(t)
	document := text(t, r.raw(http.MethodGet, api.Document.Path, r.token("mara", api.User), "", nil))
	for _, name := range []string{
		"AttemptID", "Sync", "JobVersion", "SyncMemory", "SyncInstance", "Finished", "SyncReply", "InstanceID", "Desired", "JobSpec",
		"LogChunk", "LogReply",
	} {
		_, schema, found := strings.Cut(document, "\n    "+name+":\n")
		if !found {
			t.Errorf("the document has no %s", name)
			continue
		}
		lines := strings.SplitAfter(schema, "\n")
		end := 0
		for end < len(lines) && strings.HasPrefix(lines[end], "      ") {
			end++
		}
		whole := strings.Join(lines[:end], "")
		if !strings.HasPrefix(whole, "      additionalProperties: true\n") || strings.Contains(whole, "enum:") {
			t.Errorf("%s is closed:\n%s", name, whole)
		}
	}
}
