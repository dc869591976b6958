package crash

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestLogsOfSeveralSupervisors: each supervisor has a log folder of its own. What an item printed under a leader that
// is a standby now is found there, what it prints across the takeover is followed to its end, and of a supervisor that
// is gone the reader gets an error.
func TestLogsOfSeveralSupervisors(t *testing.T) {
	t.Parallel()
	r := newCrashRig(t, 1, 1, 2, "QB_SUPERVISOR_LOGPATH=")
	first := r.leading()
	short := r.qb(0, r.both(), "qbsub", "-waiton", "echo before the takeover")
	silent := r.qb(0, r.both(), "qbsub", "-waiton", "true")
	long := r.qb(0, r.both(), "qbsub", "echo begun; while ! test -e "+r.path("go")+"; do sleep 0.1; done; echo ended")
	r.until("the item has printed", func() bool { return r.qb(0, r.both(), "qbout", long) == "begun" })
	following := r.command(r.both(), "qbout", long, "-follow")
	var followed strings.Builder
	following.Stdout = &followed
	r.must(following.Start())

	r.supervisors[first].kill()
	r.until("the standby leads", func() bool { return r.leader() == 1-first })
	// It cannot know whether the item printed anything: the machine that may have its output is named.
	if _, got, _ := r.outputs(0, r.both(), "qbout", short); !strings.Contains(got, "lies with http://"+r.addresses[first]+", which does not answer") {
		t.Errorf("while the machine with the output is gone: %q", got)
	}
	r.must(r.supervisors[first].start())
	r.until("the first stands by", func() bool { return r.standsBy(first) })
	if got := r.qb(0, r.both(), "qbout", short); got != "before the takeover" {
		t.Errorf("from the supervisor that led: %q", got)
	}
	if got := r.qb(0, r.both(), "qbout", silent); got != "" {
		t.Errorf("of an item that printed nothing: %q", got)
	}
	r.must(os.WriteFile(r.path("go"), nil, 0o644))
	r.must(following.Wait())
	if followed.String() != "begun\nended\n" {
		t.Errorf("followed across the takeover: %q", followed.String())
	}
	r.until("the long job's log is whole", func() bool { return r.qb(0, r.both(), "qbout", long) == "begun\nended" })

	// A supervisor that is stopped takes the connection and says nothing.
	r.supervisors[first].signal(syscall.SIGSTOP)
	defer r.supervisors[first].signal(syscall.SIGCONT)
	if _, got, _ := r.outputs(0, r.both(), "qbout", short); !strings.Contains(got, "which does not answer") {
		t.Errorf("while the machine with the output hangs: %q", got)
	}
	for i, name := range []string{"s1", "s2"} {
		if logs, _ := filepath.Glob(r.path(name, "logs", "*")); len(logs) == 0 {
			t.Errorf("supervisor %d has no log folder of its own", i)
		}
	}
}
