package crash

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/sim/replica"
)

// A primary whose commits wait for a replica that was promoted instead: its leader's term ends as a commit hangs, and
// the farm goes on at the other address within a minute. Why the term ended is said by qbping, and while no one leads
// by /healthz and refusals, too.
func TestHungPrimary(t *testing.T) {
	t.Parallel()
	former, promoted := replica.Start(t)
	r := newCrashRigOn(t, replica.URL(former, promoted), 1, 1, 1)
	former.Set("synchronous_standby_names", "b")
	r.until("commits wait for the replica", func() bool { return former.Query("SELECT sync_state FROM pg_stat_replication") == "sync" })
	first := r.leading()
	promoted.Promote()
	began := time.Now()
	r.until("the farm is led at the promoted replica", func() bool { return r.ledAt(promoted) && r.leader() >= 0 })
	took := time.Since(began)
	if took > time.Minute {
		t.Errorf("nobody led at the promoted replica for %.1f s", took.Seconds())
	}
	r.qb(0, r.both(), "qbsub", "true")
	end := r.lastEnd(first)
	if end != "database_hung" && end != "newer_server" {
		t.Errorf("qbping says that the last term of the first leader ended by %q", end)
	}
	t.Logf("led at the promoted replica after %.1f s; the former term ended by %s", took.Seconds(), end)

	last := r.leading()
	promoted.Stop()
	former.Stop()
	r.until("nobody leads", func() bool { return r.leader() < 0 && r.lastEnd(last) != end })
	end = r.lastEnd(last)
	healthz := r.healthz(last)
	refusal := r.qb(-1, r.scheme()+r.addresses[last], "qbsub", "true")
	for what, text := range map[string]string{"/healthz": healthz, "a refusal": refusal} {
		if !strings.Contains(text, end) || end == "" {
			t.Errorf("%s does not say why the last term ended (%q): %s", what, end, text)
		}
	}
}

// lastEnd is the code by which the last term of a supervisor ended, as qbping tells it.
func (r *crashRig) lastEnd(supervisor int) string {
	var ping struct {
		LastEnd struct {
			Code string `json:"code"`
		} `json:"last_end"`
	}
	// nothing while it does not answer
	_ = json.Unmarshal([]byte(r.qb(-1, r.scheme()+r.addresses[supervisor], "qbping", "-json")), &ping)
	return ping.LastEnd.Code
}

func (r *crashRig) healthz(supervisor int) string {
	answer, err := http.Get(r.scheme() + r.addresses[supervisor] + "/healthz")
	r.must(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	r.must(err)
	if answer.StatusCode != http.StatusServiceUnavailable {
		r.t.Errorf("/healthz answers %d while nobody leads", answer.StatusCode)
	}
	return string(text)
}

// The promoted replica is lost for good, and the former primary's rows are taken by the command that the refusal names:
// it counts what is given up, changes nothing unasked, and after that the farm goes on with the rows and hosts that are
// there.
func TestAcceptOlder(t *testing.T) {
	t.Parallel()
	former, promoted := replica.Start(t)
	r := newCrashRigOn(t, replica.URL(former, promoted), 1, 1, 1)
	completes := func(job string) {
		t.Helper()
		r.until("job "+job+" completes", func() bool {
			return r.qb(-1, r.both(), "qbjobs", "-no-headers", "-fields", "status", job) == "complete"
		})
	}
	completes(r.qb(0, r.both(), "qbsub", "true"))
	r.until("the replica has it", func() bool { return len(doneAt(promoted)) == 1 })
	former.Stop()
	promoted.Promote()
	r.until("the farm is led at the promoted replica", func() bool { return r.ledAt(promoted) && r.leader() >= 0 })
	later := r.qb(0, r.both(), "qbsub", "true")
	completes(later)
	former.Start()
	counted, code := r.restore(former, "-newer", replica.URL(promoted))
	if code != 0 || !strings.Contains(counted, "Lost: 1 jobs submitted, 1 attempts begun and 1 ended after that.") || !strings.Contains(counted, "Nothing was changed.") {
		t.Errorf("what would be given up is counted as: %s", counted)
	}
	promoted.Stop()
	for _, s := range r.supervisors {
		s.kill()
		s.env = append(s.env, "QB_DATABASE_URL="+replica.URL(former))
		r.must(s.start())
	}
	r.until("a host has told of the newer server", func() bool {
		return former.Query("SELECT newer_timeline FROM supervisor") == "2"
	})
	for i := range r.supervisors {
		r.until("the refusal names the way out", func() bool {
			return strings.Contains(r.qb(-1, r.scheme()+r.addresses[i], "qbsub", "true"), "qb restore -accept-older")
		})
	}
	for _, s := range r.supervisors {
		s.kill()
	}
	r.until("the last leader counts as gone, and the rows are taken", func() bool {
		_, code := r.restore(former, "-force")
		return code == 0
	})
	for _, s := range r.supervisors {
		r.must(s.start())
	}
	r.leading()
	job := r.qb(0, r.both(), "qbsub", "true")
	completes(job)
	if rows := former.Query("SELECT count(*) FROM job"); rows != "2" || job == later {
		t.Errorf("%s jobs are in the rows that were taken, the last one is %s; job %s was given up", rows, job, later)
	}
}

// restore is qb restore -accept-older at a server, as a person would type it on the first supervisor's machine.
func (r *crashRig) restore(at *replica.Server, args ...string) (out string, code int) {
	r.t.Helper()
	cmd := exec.Command("qb", append([]string{"restore", "-accept-older", "-state", r.path("s1")}, args...)...)
	cmd.Env = append(slices.Clone(r.supervisors[0].env), "QB_DATABASE_URL="+replica.URL(at))
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		r.t.Fatalf("%v: %v", cmd.Args, err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}
