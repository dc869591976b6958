package term

import (
	"log/slog"
	"slices"
	"testing"

	"qb/supervisor/job/facts"
)

// TestEventsOfRestores: the stream says that a term has ended as the database was put back or copied.
func TestEventsOfRestores(t *testing.T) {
	var got []string
	l := &Leader{Log: slog.New(slog.DiscardHandler), Tell: func(e facts.EventFacts) { got = append(got, e.Type) }}
	if !l.atOnce(errPutBack) || l.atOnce(errSuperseded) {
		t.Error("only after a restore the next term follows at once")
	}
	if !slices.Equal(got, []string{"restored", "superseded"}) {
		t.Errorf("the stream says %v", got)
	}
}
