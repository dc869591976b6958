package model

import (
	"strings"
	"testing"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// TestSpecificationsAreBounded: an answer has as many specifications as a worker surely reads, and the next ones have the others.
func TestSpecificationsAreBounded(t *testing.T) {
	const jobs = 40
	h := &Host{hosted: hosted{Instances: map[instanceKey]*Instance{}}}
	for n := range jobs {
		j := &Job{JobFacts: facts.JobFacts{ID: facts.JobID(n + 1), Version: 1, Command: []string{strings.Repeat("x", 1<<20)}}}
		if n == 0 {
			j.Command = []string{strings.Repeat("x", 2*mostSpecs)} // one is always there
		}
		entries, err := agenda.Parse(agenda.Spec{Runs: 1}, 1)
		if err != nil {
			t.Fatal(err)
		}
		j.Items = items.New(entries)
		h.Instances[instanceKey{j.ID, 0}] = &Instance{Job: j, Host: h, Attempt: facts.RunFacts{AttemptID: facts.AttemptID{Job: j.ID, Number: 1}}}
	}
	holds := map[facts.JobID]int64{}
	answers := 0
	for ; len(holds) < jobs && answers < jobs; answers++ {
		var reply message.SyncReply
		h.FillReply(time.Now(), &message.Policy{}, facts.HostFacts{}, holds, 0, &reply)
		size := int64(0)
		for _, spec := range reply.Specs {
			if holds[spec.ID] != 0 {
				t.Errorf("job %d comes again", spec.ID)
			}
			holds[spec.ID] = spec.Version
			size += spec.Bytes()
		}
		if len(reply.Instances) != jobs || size > mostSpecs && len(reply.Specs) > 1 || len(reply.Specs) == 0 {
			t.Fatalf("answer %d: %d instances, %d specifications of %d bytes", answers, len(reply.Instances), len(reply.Specs), size)
		}
	}
	if answers != 4 {
		t.Errorf("%d answers", answers)
	}
}
