package items

import (
	"runtime"
	"testing"

	"qb/agenda"
	"qb/supervisor/job/facts"
)

func manyItems(t *testing.T, text string) *Items {
	t.Helper()
	a, err := agenda.Parse(agenda.Spec{Range: text}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return New(a)
}

// TestFailuresTakeAByteAnItem: how items failed is remembered of a million without a million entries, and what is not
// told apart any more is not said to be alike.
func TestFailuresTakeAByteAnItem(t *testing.T) {
	const n = 1_000_000
	s := manyItems(t, "1-1000000")
	exit := func(code int) facts.Failure { return facts.Failure{Reason: facts.ReasonExit, ExitCode: code} }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for item := range facts.ItemNo(n) {
		s.fail(item, exit(1))
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 2*n {
		t.Errorf("%d bytes for how %d items failed", after.TotalAlloc-before.TotalAlloc, n)
	}
	if got := s.Failure(); got != exit(1) {
		t.Errorf("all failed alike, as %+v", got)
	}
	for item := range facts.ItemNo(2 * maxWays) {
		s.fail(item, exit(int(item)+1))
	}
	if got := s.Failure(); got != (facts.Failure{}) || len(s.ways) != maxWays {
		t.Errorf("of %d ways all are %+v", len(s.ways), got)
	}
	for item := range facts.ItemNo(n) {
		s.Reopen(item, agenda.Pending)
	}
	if got := s.Failure(); got != (facts.Failure{}) {
		t.Errorf("none has failed, but as %+v", got)
	}
	s.fail(7, exit(3))
	if got := s.Failure(); got != exit(3) {
		t.Errorf("one has failed, as %+v", got)
	}
	s.Reopen(7, agenda.Pending)
	s.fail(7, exit(1000))
	if got := s.Failure(); got != (facts.Failure{}) {
		t.Errorf("a way too many is %+v", got)
	}
}

// TestCompactedFailureIsNotKnown: an item that failed before its attempts became sums failed in some way or other.
func TestCompactedFailureIsNotKnown(t *testing.T) {
	s := manyItems(t, "1-2")
	s.Tally.Set(0, agenda.Failed)
	if got := s.Failure(); got != (facts.Failure{}) {
		t.Errorf("it failed as %+v", got)
	}
	s.fail(1, facts.Failure{Reason: facts.ReasonSignal, Signal: 9})
	if got := s.Failure(); got != (facts.Failure{}) {
		t.Errorf("both failed as %+v", got)
	}
}
