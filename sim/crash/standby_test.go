package crash

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"qb/api"
)

// Two supervisors on one database: one leads, the other is by and says who does. A leader that is killed
// is replaced, and so is a frozen one; when that one wakes it is by. The items run on, and
// clients and workers that have both addresses find the leader by themselves.
func TestStandby(t *testing.T) {
	t.Parallel()
	r := newCrashRig(t, 1, 1, 2)
	long := r.qb(0, r.both(), "qbsub", "-range", "1-2", "-cpus", "2", "-max_cpus", "0",
		fmt.Sprintf(`while ! test -e %s; do sleep 0.1; done`, r.path("go")))
	r.until("both items run", func() bool { return len(r.running(long)) == 2 })
	before := r.running(long)
	r.refuses(1 - r.leading())

	first := r.leading()
	r.supervisors[first].kill()
	r.until("the standby leads", func() bool { return r.leader() == 1-first })
	short := r.qb(0, r.both(), "qbsub", "-status", "blocked", "true")
	r.must(r.supervisors[first].start())
	r.until("the first stands by", func() bool { return r.standsBy(first) })
	r.refuses(first)

	second := r.leading()
	r.supervisors[second].signal(syscall.SIGSTOP)
	r.until("the first leads again", func() bool { return r.leader() == first })
	r.qb(0, r.both(), "qbkill", short)
	r.until("the worker has turned to it", func() bool { return r.hostUp(first) })
	r.supervisors[second].signal(syscall.SIGCONT)
	r.until("the one that was stopped stands by", func() bool { return r.standsBy(second) })
	r.refuses(second)
	if after := r.running(long); !slices.Equal(before, after) {
		t.Errorf("items ran as %v, and after two changes of leader as %v", before, after)
	}
	r.must(os.WriteFile(r.path("go"), nil, 0o644))
	r.until("the long job completes", func() bool {
		return r.qb(0, r.both(), "qbjobs", "-no-headers", "-fields", "status", long) == "complete"
	})
	if got := r.qb(0, r.both(), "qbjobs", "-no-headers", "-fields", "status", short); got != "killed" {
		t.Errorf("the job that was killed under the third leader is %q", got)
	}
}

// refuses looks that a standby does what it should: it lists, changes nothing and names the leader.
func (r *crashRig) refuses(standby int) {
	r.t.Helper()
	leader := r.scheme() + r.addresses[1-standby]
	only := r.scheme() + r.addresses[standby]
	r.until("the standby knows the leader", func() bool { return strings.Contains(r.qb(-1, only, "qbping"), leader+" leads") })
	if got := r.qb(3, only, "qbsub", "true"); !strings.Contains(got, leader+" leads") {
		r.t.Errorf("the standby refuses a job with %q", got)
	}
	if got := r.qb(0, only, "qbjobs", "-no-headers"); got == "" {
		r.t.Error("the standby lists no job")
	}
	if got := r.qb(0, r.both(), "qbping"); !strings.HasPrefix(got, leader+": ") || !strings.Contains(got, "leads term") {
		r.t.Errorf("qbping with both addresses says %q", got)
	}
}

// standsBy says whether a supervisor answers without leading.
func (r *crashRig) standsBy(i int) bool {
	leads, err := r.clients[i].Leads(r.t.Context())
	return err == nil && !leads
}

func (r *crashRig) both() string {
	return r.scheme() + r.addresses[0] + "," + r.scheme() + r.addresses[1]
}

// qb runs a command with the addresses; -1 takes any exit code. It returns what the command printed, and its errors if
// it failed.
func (r *crashRig) qb(code int, supervisors, name string, args ...string) string {
	r.t.Helper()
	said, remarks, failed := r.outputs(code, supervisors, name, args...)
	if failed {
		said += remarks
	}
	return strings.TrimSpace(said)
}

// outputs are the standard output and the standard error of a command.
func (r *crashRig) outputs(code int, supervisors, name string, args ...string) (said, remarks string, failed bool) {
	r.t.Helper()
	cmd := r.command(supervisors, name, args...)
	var out, errors strings.Builder
	cmd.Stdout = &out
	cmd.Stderr = &errors
	err := cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != code && code >= 0 {
		r.t.Fatalf("%s %v with %s: %v, exit code %d, want %d\n%s%s", name, args, supervisors, err, got, code, &out, &errors)
	}
	return out.String(), errors.String(), err != nil
}

// command is a command of ours with the addresses.
func (r *crashRig) command(supervisors, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+r.path("none"), "QB_SUPERVISOR="+supervisors,
		"QB_TOKEN_FILE="+r.path("s1", "admin.token"))
	return cmd
}

// running are the running attempts of a job.
func (r *crashRig) running(job string) (found []string) {
	id, err := strconv.ParseInt(job, 10, 64)
	r.must(err)
	at, err := api.Locate(r.t.Context(), r.clients)
	if err != nil {
		return nil
	}
	var attempts []api.Attempt
	if err := r.clients[at].Call(r.t.Context(), api.Attempts, jobParam(id), nil, &attempts); err != nil {
		return nil
	}
	for _, a := range attempts {
		found = append(found, fmt.Sprintf("%s.%d %s", a.Item, a.Attempt, a.State))
	}
	return found
}

func (r *crashRig) hostUp(leader int) bool {
	var hosts []api.Host
	err := r.clients[leader].Call(r.t.Context(), api.ListHosts, nil, nil, &hosts)
	return err == nil && len(hosts) == 1 && hosts[0].State == "up"
}
