package worker

import (
	"os/exec"
	"testing"
	"time"

	"qb/api"
	"qb/worker/proc"
)

// An agent waits for processes that it has started itself, and for no other of its process: else the parent that
// started them would not learn how they ended.
func TestAgentLeavesOtherChildren(t *testing.T) {
	t.Parallel()
	other := exec.Command("sh", "-c", "read line; exit 7")
	gate, err := other.StdinPipe()
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	f := newScriptedFarm(t)
	runAgent(t, testConfig(t, f))
	f.each([]api.JobSpec{{Command: []string{"true"}}}, func(int, api.Finished) {})
	gate.Close()
	f.await("its end", func() bool { return !proc.Identify(other.Process.Pid).Alive() })
	time.Sleep(50 * time.Millisecond) // for a caller that waits already
	if err := other.Wait(); other.ProcessState == nil || other.ProcessState.ExitCode() != 7 {
		t.Errorf("its own parent learns %v", err)
	}
}
