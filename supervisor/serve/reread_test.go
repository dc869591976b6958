package serve

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"qb/api"
	"qb/internal/statedir"
	"qb/supervisor/farm/message"
	"qb/supervisor/wire/settings"
)

// drawer holds the configuration that the next reading finds.
type drawer struct {
	mu  sync.Mutex
	cfg settings.Config
	err error
}

func (d *drawer) put(change func(*settings.Config), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.cfg)
	d.err = err
}

func (d *drawer) read() (Reloaded, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Reloaded{Config: d.cfg, File: "qb.conf"}, d.err
}

// rereadRig is a rig whose configuration can be read again.
func rereadRig(t *testing.T) (*rig, *drawer, chan os.Signal) {
	d, hangup := &drawer{}, make(chan os.Signal, 1)
	r := startRig(t, func(c *settings.Config, o *Options) {
		d.cfg = *c
		o.Reload, o.Hangup = d.read, hangup
	})
	return r, d, hangup
}

// TestReread: a good configuration is in force at once and in later terms, a bad one changes nothing.
func TestReread(t *testing.T) {
	r, d, hangup := rereadRig(t)
	admin, worker := r.client("boss", api.Admin), r.agent("h1", 4)
	worker.beat(0)
	must[api.SubmitReply](t, admin, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Range: "1-100"})
	worker.until("the job fills the host", func() bool { return len(worker.running) == 4 })
	width := func() int { return must[api.Job](t, admin, api.GetJob, params("job", 1), nil).MaxCPUsEffective }

	d.put(func(c *settings.Config) { c.MaxCPUsLimit, c.Listen = 2, "127.0.0.1:4" }, nil)
	got := must[api.RereadReply](t, admin, api.Reread, nil, nil)
	if fmt.Sprint(got.Changed) != "[supervisor_max_cpus_limit]" || len(got.Remarks) != 1 ||
		!strings.Contains(got.Remarks[0], "supervisor_listen") {
		t.Errorf("reply %+v", got)
	}
	if w := width(); w != 2 {
		t.Errorf("the job may be %d wide, want 2", w)
	}
	r.endTerm()
	eventually(t, "a new term goes by what was read", func() bool {
		var job api.Job
		return admin.Call(t.Context(), api.GetJob, params("job", 1), nil, &job) == nil && job.MaxCPUsEffective == 2
	})

	d.put(func(c *settings.Config) { c.MaxCPUsLimit = 3 }, errors.New(`qb.conf:7: key "x"`))
	if text := refused(t, api.KindInvalid, admin, api.Reread, nil, nil); !strings.Contains(text, "qb.conf:7") ||
		!strings.Contains(text, "old configuration stays") {
		t.Errorf("refusal %q", text)
	}
	d.put(func(c *settings.Config) { c.ShareMode = "maybe" }, nil)
	if text := refused(t, api.KindInvalid, admin, api.Reread, nil, nil); !strings.Contains(text,
		"supervisor_smart_share_mode") {
		t.Errorf("refusal %q", text)
	}
	if w := width(); w != 2 {
		t.Errorf("a bad configuration made the job %d wide", w)
	}

	d.put(func(c *settings.Config) { c.ShareMode = "none" }, nil)
	hangup <- syscall.SIGHUP
	eventually(t, "SIGHUP reads again", func() bool { return width() == 1 })
	eventually(t, "the log tells of the readings", func() bool { // of a good one when it is in force already
		text := r.log.String()
		return strings.Contains(text, "configuration reload failed") && strings.Contains(text, "by=SIGHUP")
	})
	eventually(t, "the trail tells what SIGHUP changed", func() bool {
		rows := must[[]api.AuditEntry](t, admin, api.AuditLog, params("user", statedir.OwnName()), nil)
		return len(rows) == 1 && rows[0].From == "SIGHUP" && rows[0].Verb == "reread" && rows[0].Outcome == "done" &&
			string(
				rows[0].Detail) == `{"after":{"supervisor_max_cpus_limit":3,"supervisor_smart_share_mode":"none"},"before":{"supervisor_max_cpus_limit":2,"supervisor_smart_share_mode":"jobs"}}`
	})
	secret := settings.DefaultConfig()
	secret.DatabaseURL = "postgres://qb:hunter2@db/qb"
	if shown := fmt.Sprint(settings.Values(secret,
		[]string{"database_url", "supervisor_user_jobs"})); shown != "map[database_url:*** supervisor_user_jobs:10000]" {
		t.Errorf("the trail would show %s", shown)
	}
}

// TestRereadBetweenRebuildAndLoop: what is read while a term is rebuilt reaches its loop.
func TestRereadBetweenRebuildAndLoop(t *testing.T) {
	s := newTestServer(t)
	s.live.policy() // a term begins …
	read := *s.live.now.Load()
	read.MaxCPUsLimit = 7
	s.live.reload = func() (Reloaded, error) { return Reloaded{Config: read}, nil }
	if got, err := s.admin.readAgain(t.Context(), "ada"); err != nil || len(got.Remarks) != 1 ||
		!strings.Contains(got.Remarks[0], "does not lead") {
		t.Fatalf("reply %+v, %v", got, err)
	}
	told := 0
	tell := func(message.Event) bool { told++; return true }
	s.live.catchUp(tell) // … and its loop opens
	if told != 1 {
		t.Error("the loop was not told of the policy")
	}
	s.live.policy()
	if s.live.catchUp(tell); told != 1 {
		t.Error("a loop was told what it knows")
	}
}

// TestNothingToReread: a supervisor without a way to read again says so.
func TestNothingToReread(t *testing.T) {
	r := startRig(t)
	refused(t, api.KindConflict, r.client("boss", api.Admin), api.Reread, nil, nil)
	if text := refused(t, api.KindConflict, r.client("op", api.Operator),
		api.ReleaseBrake, nil, nil); !strings.Contains(text, "not engaged") {
		t.Errorf("refusal %q", text)
	}
}

// TestBrakeIsSeen: an engaged brake is in ping and metrics until it is released.
func TestBrakeIsSeen(t *testing.T) {
	t.Parallel()
	r := startRig(t, func(c *settings.Config, _ *Options) { c.Liveness = settings.Duration(1e9) })
	op := r.client("op", api.Operator)
	must[api.SubmitReply](t, r.client("u1", api.User), api.Submit, nil,
		api.SubmitRequest{Command: []string{"render"}, Range: "1-6", CPUs: ptr(6)})
	for n := range 6 { // the brake is about hosts with items
		worker := r.agent(fmt.Sprint("h", n), 1)
		worker.until("it has an item", func() bool { return len(worker.running) == 1 })
	}
	ping := func() string { return must[api.Ping](t, op, api.PingFarm, nil, nil).Brake }
	// Five that are silent are enough, if the sixth is slow to speak.
	eventually(t, "the brake engages", func() bool {
		return strings.Contains(ping(), " hosts with items fell silent together")
	})
	if !strings.Contains(r.metrics(), "qb_brake_engaged 1") {
		t.Error("the metrics do not show the brake")
	}
	must[api.BrakeReply](t, op, api.ReleaseBrake, nil, nil)
	if text := ping(); text != "" {
		t.Errorf("released, but %q", text)
	}
}
