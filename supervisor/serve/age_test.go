package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/farm"
	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/store/postgres"
	"qb/supervisor/wire/settings"
)

// livePast lets a farm of long ago run jobs to their end on one host of 64 slots, a minute an item, and leaves the
// rows: every fifth item fails.
func livePast(t testing.TB, b Backing, at time.Time, jobs ...facts.JobFacts) {
	t.Helper()
	term, err := b.Lead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer term.Close(context.WithoutCancel(t.Context()))
	rows, err := term.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	policy := settings.DefaultConfig().Policy()
	policy.MinRun, policy.Settle, policy.Fairshare.Accounts = 0, 0, "open" // the jobs name accounts that were not created
	f, err := farm.Rebuild(policy, rows, at)
	if err != nil {
		t.Fatal(err)
	}
	for n, j := range jobs {
		f.Step(at, message.JobSubmitted{Ticket: outbox.Ticket(n + 1), Facts: j})
	}
	code, running := []int{0, 1}, []message.DesiredInstance{}
	for n := uint64(1); ; n++ {
		said := message.WorkerSynced{Ticket: 1000, Incarnation: "one", Sequence: n, Heard: agents.LastAnswer(n - 1), Available: 64 << 30,
			RunAs: "owner",
			Host: facts.HostFacts{ID: "old", MachineID: "m", Boot: "b", StateID: "s", Slots: 64, Memory: 64 << 30,
				Cluster: "/", Spec: 1}}
		for _, i := range running {
			end := message.ReportedEnd{Attempt: i.Attempt, Outcome: "exit", ExitCode: &code[0],
				Wall: 60 + float64(i.Attempt.Item), CPU: 50, Peak: 1 << 28}
			if i.Attempt.Item%5 == 4 {
				end.ExitCode = &code[1]
			}
			said.Finished = append(said.Finished, end)
		}
		f.Step(at, said)
		f.Plan(at)
		batch := f.Take(at)
		if err := term.Commit(t.Context(), batch.Writes); err != nil {
			t.Fatal(err)
		}
		for _, r := range batch.Replies {
			if reply, ok := r.Body.(message.SyncReply); ok {
				running = reply.Instances
			}
		}
		at = at.Add(time.Minute)
		if !slices.ContainsFunc(f.View(at).Jobs, func(j *facts.JobView) bool { return !j.State.Final() }) {
			return
		}
		if n > 10_000 {
			t.Fatalf("the past does not end: %+v", f.View(at).Jobs)
		}
	}
}

func pastJob(user, account, items string) facts.JobFacts {
	return facts.JobFacts{Submission: fmt.Sprint(user, account, items, time.Now().UnixNano()), Name: "old", User: user,
		Account: account, Agenda: agenda.Spec{Range: items},
		CPUs: 32, Command: []string{"x"}, Priority: 9999, Cluster: "/"}
}

// postgresOf is a store on a database server of the test's own, and that server's URL.
func postgresOf(t *testing.T) (*postgres.Store, string) {
	t.Helper()
	cluster := startCluster(t)
	db, err := postgres.Open(t.Context(), cluster.URL(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db, cluster.URL()
}

func auditClean(t testing.TB, url string) {
	t.Helper()
	if url == "" {
		return
	}
	report, err := postgres.Audit(t.Context(), url)
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("audit: %v %+v", err, report.Problems)
	}
}

// agingRig is a rig on a store with a past, in which nothing ages until the drawer holds another configuration.
func agingRig(t *testing.T, b Backing, change func(*Options), changes ...func(*settings.Config)) (*rig, *drawer) {
	d := &drawer{}
	r := startRig(t, func(c *settings.Config, o *Options) {
		c.HistoryDays = 0
		for _, set := range changes {
			set(c)
		}
		d.cfg, o.Reload, o.ageEvery, o.ageAttempts = *c, d.read, 5*time.Millisecond, 400
		o.Store.(*faultyStore).Backing = b
		change(o)
	})
	return r, d
}

// digits are the numbers that must stay the same, to twelve digits.
func digits(v float64) string { return fmt.Sprintf("%.12g", v) }

// books is what people see of the past.
func books(t testing.TB, c *api.Client, days int) (lines []string) {
	t.Helper()
	from := time.Now().UTC().AddDate(0, 0, -days).Format(time.DateOnly)
	for _, by := range []string{"", "day", "user,kind", "day,user,account,cluster,host,kind"} {
		for _, row := range must[api.Stats](t, c, api.GetStats, params("by", by, "from", from), nil).Rows {
			account := ""
			if row.Account != nil {
				account = *row.Account
			}
			line := fmt.Sprint(by, row.Day, row.User, account, row.Cluster, row.Host, row.Kind, row.Attempts)
			for _, v := range []float64{row.Slots, row.CPU, row.Memory, row.Secondary, row.Preempted, row.Failed, row.Charged} {
				line += " " + digits(v)
			}
			lines = append(lines, line)
		}
	}
	for _, share := range must[[]api.Share](t, c, api.ListShares, nil, nil) {
		lines = append(lines, fmt.Sprint(share.User, share.Account, " rank ", share.Rank, " factor ", digits(share.Factor),
			" received ", digits(share.Received)))
		for _, x := range must[[]api.ShareExplanation](t, c, api.ExplainShare, params("user", share.User), nil) {
			sum := 0.0
			for _, l := range x.Lines {
				sum += l.Decayed
				lines = append(lines, fmt.Sprint(x.User, x.Account, l.Day, " ", digits(l.Wall), " ", digits(l.Charge)))
			}
			if x.Ended <= 0 || math.Abs(sum/x.Ended-1) > 1e-11 { // a microsecond of the clock is 2e-12 of the use
				t.Errorf("%s %q: the ledger's lines are %v, the books say %v", x.User, x.Account, sum, x.Ended)
			}
		}
	}
	return lines
}

// TestHistoryAges: old attempts become daily sums and are later deleted, without an effect on any user's rank, ledger
// or report. The settings are read again without a restart.
func TestHistoryAges(t *testing.T) {
	t.Parallel()
	b, url := postgresOf(t)
	now := time.Now()
	livePast(t, b, now.Add(-100*settings.Day), pastJob("ada", "", "1-9"), pastJob("bob", "show/a", "1-23"),
		pastJob("ada", "show/a", "1-6"))
	livePast(t, b, now.Add(-92*settings.Day-3*time.Hour), pastJob("bob", "", "1-31"), pastJob("cy", "", "1-700"))
	livePast(t, b, now.Add(-20*settings.Day), pastJob("ada", "", "1-12"))
	r, d := agingRig(t, b, func(*Options) {})
	c := r.client("boss", api.Admin)
	before := books(t, c, 120)
	if len(before) < 25 {
		t.Fatalf("the past is %q", before)
	}
	d.put(func(c *settings.Config) { c.HistoryDays = 90 }, nil)
	must[api.RereadReply](t, c, api.Reread, nil, nil)
	eventually(t, "old attempts are sums", func() bool {
		return strings.Contains(r.metrics(), "\nqb_history_compacted_attempts_total 769\n")
	})
	same := func(what string) {
		t.Helper()
		if after := books(t, c, 120); !slices.Equal(before, after) {
			t.Errorf("%s:\n%s\n%s", what, strings.Join(before, "\n"), strings.Join(after, "\n"))
		}
		auditClean(t, url)
	}
	same("after compaction")
	if n := len(must[[]api.Attempt](t, c, api.Attempts, params("job", 1), nil)); n != 0 {
		t.Errorf("job 1 still has %d attempts", n)
	}
	if j := must[api.Job](t, c, api.GetJob, params("job", 1), nil); j.Status != "failed" || j.Items.Complete != 8 ||
		j.Items.Failed != 1 {
		t.Errorf("job 1 is %+v", j)
	}
	if text := refused(t, api.KindConflict, c, api.OrderJob,
		params("job", 1, "action", "retry"), nil); !strings.Contains(text, "submit it again") {
		t.Errorf("retrying says %q", text)
	}
	d.put(func(c *settings.Config) { c.JobRetention = settings.Duration(95 * settings.Day) }, nil)
	must[api.RereadReply](t, c, api.Reread, nil, nil)
	eventually(t, "the oldest are removed", func() bool {
		return strings.Contains(r.metrics(), "\nqb_history_removed_jobs_total 3\n")
	})
	same("after removal")
	refused(t, api.KindNotFound, c, api.GetJob, params("job", 1), nil)
	refused(t, api.KindNotFound, c, api.OrderJob, params("job", 1, "action", "retry"), nil)
	if got := must[api.SubmitReply](t, c, api.Submit, nil,
		api.SubmitRequest{Command: []string{"x"}, Range: "1"}); got.Job != 7 {
		t.Errorf("the next job is %d", got.Job)
	}
	if r.store.terms.Load() != 1 || strings.Contains(r.metrics(), "qb_history_errors_total 1") {
		t.Errorf("%d terms, and %s", r.store.terms.Load(), r.log)
	}
}

// TestOrdersWhileHistoryAges: a job that is taken up again just when it is old enough either runs again or is said to
// be too old; no order on one ends the term.
func TestOrdersWhileHistoryAges(t *testing.T) {
	const jobs = 200
	b := newStore(t)
	var past []facts.JobFacts
	for range jobs {
		past = append(past, pastJob("ada", "", "1-5"))
	}
	livePast(t, b, time.Now().Add(-100*settings.Day), past...)
	r, d := agingRig(t, b, func(o *Options) { o.ageAttempts = 25 })
	c := r.client("boss", api.Admin)
	var mu sync.Mutex
	again := map[int]bool{}
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for id := jobs - n; id > 0; id -= 4 {
				time.Sleep(10 * time.Millisecond)                  // so that orders and history meet
				for _, action := range []string{"kill", "retry"} { // a kill changes nothing, but takes the job into memory
					err := c.Call(t.Context(), api.OrderJob, params("job", id, "action", action), nil, nil)
					var refusal *api.Error
					switch {
					case err == nil && action == "retry":
						mu.Lock()
						again[id] = true
						mu.Unlock()
					case err != nil && (!errors.As(err, &refusal) || refusal.Kind != api.KindConflict):
						t.Errorf("job %d: %v", id, err)
					}
				}
			}
		})
	}
	d.put(func(c *settings.Config) { c.HistoryDays = 90 }, nil)
	must[api.RereadReply](t, c, api.Reread, nil, nil)
	all.Wait()
	eventually(t, "the others are sums", func() bool {
		return strings.Contains(r.metrics(), fmt.Sprintf("\nqb_history_compacted_attempts_total %d\n", 5*(jobs-len(again))))
	})
	for id := 1; id <= jobs; id++ {
		job := must[api.Job](t, c, api.GetJob, params("job", id), nil)
		if attempts := len(must[[]api.Attempt](t, c, api.Attempts,
			params("job", id), nil)); again[id] != (job.Status == "pending") || again[id] != (attempts == 5) {
			t.Errorf("job %d, taken up again: %v, is %s with %d attempts", id, again[id], job.Status, attempts)
		}
	}
	if r.store.terms.Load() != 1 {
		t.Errorf("%d terms: an order ended one\n%s", r.store.terms.Load(), r.log)
	}
	if len(again) == 0 || len(again) == jobs {
		t.Errorf("%d of %d jobs ran again: orders and history never met", len(again), jobs)
	}
}
