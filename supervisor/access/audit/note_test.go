package audit

import (
	"fmt"
	"strings"
	"testing"
)

// TestAuditDetailIsClipped: long values are cut, so that even the row of a large change has its values.
func TestAuditDetailIsClipped(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	hosts := make([]string, 500)
	for n := range hosts {
		hosts[n] = fmt.Sprint("host", n)
	}
	for _, after := range []any{map[string]any{"name": long, "priority": 7}, map[string]any{"hosts": hosts, "priority": 7},
		map[string]any{"priority": 7, "a": long, "b": long, "c": long, "d": long, "e": long, "f": long, "g": long, "h": long,
			"i": long}} {
		got := detailOf(Change{Before: after, After: after})
		if len(got) > maxDetail || strings.Count(got, `"priority":7`) != 2 {
			t.Errorf("%d bytes: %.300s", len(got), got)
		}
	}
}
