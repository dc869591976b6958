package crash

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/api"
)

// TestRepeatedAsAdvised: commits hang, so that a command cannot know what became of its change; they heal; and the
// command that the error advises finds the change instead of making another. What is called from a script does so by
// itself.
func TestRepeatedAsAdvised(t *testing.T) {
	t.Parallel()
	r := newCrashRig(t, 5, 1, 2)
	sub := []string{"-range", "1-3", "-status", "blocked", "-name", "it's $HOME", "sleep", "1 2"}

	advised := r.advice("qbsub", append([]string{"-retryfor", "3s"}, sub...)...)
	if !strings.HasSuffix(advised, `-name 'it'\''s $HOME' sleep '1 2'`) {
		t.Fatalf("the error advises %q", advised)
	}
	job := r.qb(0, r.both(), "sh", "-c", advised)
	if again := r.qb(0, r.both(), "sh", "-c", advised); again != job {
		t.Errorf("repeated as advised: %q, then %q", job, again)
	}
	r.wantJobs(1)

	heal := r.hangCommits()
	later := time.AfterFunc(10*time.Second, heal)
	defer later.Stop()
	said, remarks, _ := r.outputs(0, r.both(), "qbsub", append([]string{"-key", "mine"}, sub...)...)
	if !strings.Contains(remarks, "trying again for up to 2m0s") {
		t.Errorf("a script is told %q", remarks)
	}
	mine := strings.TrimSpace(said)
	r.wantJobs(2)

	advised = r.advice("qbkill", "-retryfor", "3s", job, mine)
	if got := r.qb(0, r.both(), "sh", "-c", advised); !strings.Contains(got, job+": kill, 3 affected\n"+mine+": kill, 3 affected") {
		t.Errorf("repeated as advised, %q says %q", advised, got)
	}
}

// advice is the command that another advises when commits hang. A slow machine may start the other only when no
// supervisor leads any more: it is refused then, changes nothing and answers so, and commits hang once more.
func (r *crashRig) advice(name string, args ...string) string {
	r.t.Helper()
	said := ""
	for range 5 {
		r.qb(0, r.both(), "qbjobs")
		heal := r.hangCommits()
		said = r.qb(3, r.both(), name, args...)
		heal()
		if advised := lastLine(said); strings.HasPrefix(advised, name+" -key ") {
			return advised
		}
	}
	r.t.Fatalf("nothing is advised five times: %q", said)
	return ""
}

// TestSubmitKey: the same name gives the same job, and another request under it is refused.
func TestSubmitKey(t *testing.T) {
	t.Parallel()
	r := newCrashRig(t, 6, 0, 1)
	job := r.qb(0, r.both(), "env", "QB_SUBMIT_KEY=night", "qbsub", "-flags", "export_environment", "true")
	if got := r.qb(0, r.both(), "env", "QB_SUBMIT_KEY=night", "qbsub", "-flags", "export_environment", "true"); got != job {
		t.Errorf("the same key in the environment gives job %q, then %q", job, got)
	}
	const want = `key "night" belongs to an earlier request that differs`
	if got := r.qb(1, r.both(), "qbsub", "-key", "night", "false"); !strings.Contains(got, want) {
		t.Errorf("another command under the key: %q", got)
	}
	r.sql("delete from answer") // as after a day
	if got, _, _ := strings.Cut(r.qb(0, r.both(), "qbsub", "-flags", "export_environment", "-key", "night", "true"), "\n"); got != job {
		t.Errorf("after a day the same key gives %q, want %q", got, job)
	}
	if got := r.qb(1, r.both(), "qbsub", "-key", "night", "false"); !strings.Contains(got, want) {
		t.Errorf("another command under the key, after a day: %q", got)
	}
	for _, bad := range []string{"", "a b", strings.Repeat("k", 101), "ä"} {
		r.qb(2, r.both(), "qbsub", "-key", bad, "true")
	}
	if got := r.qb(2, r.both(), "qbkill", "-retryfor", "25h", job); !strings.Contains(got, "-retryfor 25h: use 0s to 24h") {
		t.Errorf("-retryfor beyond the keys' life: %q", got)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// hangCommits lets commits wait for a standby that is not there: what was sent is durable, and no one hears of it.
func (r *crashRig) hangCommits() (heal func()) {
	r.t.Helper()
	r.sql("alter system set synchronous_standby_names = 'nobody'")
	r.sql("select pg_reload_conf()")
	r.until("new sessions have the setting", func() bool { // all others were signalled to read it before
		ctx, cancel := context.WithTimeout(context.Background(), crashPatience)
		defer cancel()
		conn, err := pgx.Connect(ctx, r.database)
		r.must(err)
		defer conn.Close(ctx)
		var names string
		r.must(conn.QueryRow(ctx, "show synchronous_standby_names").Scan(&names))
		return names == "nobody"
	})
	return func() {
		r.sql("alter system reset synchronous_standby_names")
		r.sql("select pg_reload_conf()")
	}
}

func (r *crashRig) sql(text string) {
	ctx, cancel := context.WithTimeout(context.Background(), crashPatience)
	defer cancel()
	conn, err := pgx.Connect(ctx, r.database)
	if err == nil {
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, text)
	}
	if err != nil {
		r.t.Errorf("%s: %v", text, err)
	}
}

func (r *crashRig) wantJobs(n int) {
	r.t.Helper()
	var jobs []api.Job
	at, err := api.Locate(r.t.Context(), r.clients)
	r.must(err)
	if err := r.clients[at].Call(r.t.Context(), api.ListJobs, nil, nil, &jobs); err != nil || len(jobs) != n {
		r.t.Errorf("there are %d jobs, want %d; %v", len(jobs), n, err)
	}
}
