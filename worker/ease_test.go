package worker

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"qb/worker/core"
	"qb/worker/shim"
)

// A shim may be woken late. Its items sleep as exactly as what the worker's own parent starts.
func TestOnlyShimsAreWokenLate(t *testing.T) {
	t.Parallel()
	own, err := os.ReadFile("/proc/self/timerslack_ns")
	if err != nil {
		t.Fatal(err)
	}
	f := newScriptedFarm(t)
	f.job(1, "sh", "-c", `cat /proc/self/timerslack_ns /proc/$PPID/timerslack_ns 2>&1`)
	runAgent(t, testConfig(t, f))
	for n := range 2 {
		f.want(core.Key{Job: 1, Instance: 0}, attempt(1, n))
		f.awaitEnd(attempt(1, n))
		out := f.output(attempt(1, n), shim.StreamOut)
		item, parent, _ := strings.Cut(out, "\n")
		if item != strings.TrimSpace(string(own)) {
			t.Errorf("an item's timers may be %s ns late, and this process's %s", item, own)
		}
		if late := fmt.Sprintln(1_000_000); os.Geteuid() == 0 && parent != late { // the kernel tells root alone
			t.Errorf("a shim's timers may be %s ns late, want %s", parent, late)
		}
	}
}
