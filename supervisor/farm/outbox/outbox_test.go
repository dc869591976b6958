package outbox

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"qb/supervisor/job/facts"
)

// A batch has all rows in their order and all replies since the last one, and then nothing is left.
func TestTakeLeavesNothing(t *testing.T) {
	var o Outbox
	o.Write(facts.ForgetHost{Host: "a"})
	o.Answer(1, "done")
	o.Answer(0, "nobody waits")
	o.Refuse(2, "conflict", "job %d is gone", 7)
	o.Write(facts.ForgetHost{Host: "b"})
	b := o.Take()
	if len(b.Writes) != 2 || b.Writes[0] != (facts.ForgetHost{Host: "a"}) || b.Writes[1] != (facts.ForgetHost{Host: "b"}) {
		t.Errorf("writes %+v", b.Writes)
	}
	if len(b.Replies) != 2 || b.Replies[0].Body != "done" || b.Replies[0].Err != nil || b.Replies[1].Err.Text != "job 7 is gone" || b.Replies[1].Body != nil {
		t.Errorf("replies %+v", b.Replies)
	}
	if !o.Empty() || len(o.Take().Writes) > 0 {
		t.Error("something is taken twice")
	}
}

// Requests fill one half of a commit and the farm's own work the other; neither takes the other's room.
func TestHalvesOfACommit(t *testing.T) {
	o := Outbox{CommitRows: 10}
	for range 4 {
		o.Write(facts.ForgetHost{Host: "a"})
	}
	if o.Full() || o.Spent() {
		t.Fatal("full with 4 rows of 10")
	}
	done := o.OwnWork()
	for range 5 {
		o.Write(facts.ForgetHost{Host: "a"})
	}
	if o.Full() || !o.Spent() {
		t.Errorf("after own work: full %v, spent %v", o.Full(), o.Spent())
	}
	done()
	o.Answer(1, nil)
	if !o.Full() {
		t.Error("an answer, which may be stored for a repetition, counts for nothing")
	}
	if o.Take(); o.Full() || o.Spent() {
		t.Error("full after it was taken")
	}
}

// A few rows of many bytes fill a commit as well.
func TestBytesFillACommit(t *testing.T) {
	var o Outbox
	long := strings.Repeat("x", 1<<20)
	rows := 0
	for ; !o.Full() && rows < 100; rows++ {
		o.Write(facts.PutJob{Job: facts.JobFacts{Command: []string{long}}})
	}
	if rows != 8 {
		t.Errorf("full with %d rows of 1 MiB, want 8 of 16 MiB", rows)
	}
}

// A line of history has a time and at most so many bytes, which are whole characters.
func TestRecordIsClipped(t *testing.T) {
	var o Outbox
	now := time.Unix(1000, 0)
	o.Record(now, facts.EventFacts{Type: "x", Why: facts.Why{Cause: strings.Repeat("日", maxCause)}})
	e := o.Take().Writes[0].(facts.AddEvent).Event
	if !e.At.Equal(now) || len(e.Cause) > maxCause+len("…") || !utf8.ValidString(e.Cause) || !strings.HasSuffix(e.Cause, "日…") {
		t.Errorf("%d bytes at %v: %.20q", len(e.Cause), e.At, e.Cause)
	}
}
