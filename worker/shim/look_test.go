package shim

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLookThatBlocksIsKilled: the child that looks for the cause of a failed start has two seconds.
func TestLookThatBlocksIsKilled(t *testing.T) {
	s := &shim{do: make(chan func(), 1), quit: make(chan struct{})}
	args := os.Args
	defer func() { os.Args = args }()
	os.Args = []string{args[0], "sleep-for", "the look's word takes its place"}
	began := time.Now()
	reason := s.launchReason(&RunCommand{Argv: []string{"x"}, Dir: "/"}, unix.ENOENT).Reason
	if took := time.Since(began); !strings.Contains(reason, "did not answer within "+lookFor.String()) || took < lookFor || took > 30*time.Second { // it would sleep for a minute
		t.Errorf("after %s: %s", took, reason)
	}
}

// TestMain lets this program stand for the child that a look starts, at a file system that does not answer.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "sleep-for" {
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	os.Exit(m.Run())
}
