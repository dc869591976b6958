package worker

import (
	"testing"

	"qb/api"
)

// TestWhatIsLeftBehindIsKilledAlone: what an item's command leaves behind is killed, again and again until nothing is left. The check
// that begins meanwhile, and takes longer than that, is not.
func TestWhatIsLeftBehindIsKilledAlone(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	runAgent(t, testConfig(t, f))
	specs := make([]api.JobSpec, 12)
	for n := range specs {
		specs[n] = api.JobSpec{Command: []string{"sleep 600 >/dev/null 2>&1 & sleep 600 >/dev/null 2>&1 & exit 0"}, Shell: true, Cwd: t.TempDir(), AgendaPostflights: []string{"sleep 0.3"}}
	}
	f.each(specs, func(n int, end api.Finished) {
		if end.Outcome != "exit" || end.ExitCode == nil || *end.ExitCode != 0 {
			t.Errorf("item %d: %+v", n, end)
		}
	})
}
