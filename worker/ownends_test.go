package worker

import (
	"fmt"
	"strings"
	"testing"

	"qb/api"
	"qb/worker/core"
	"qb/worker/shim"
)

// wayToFail is one of all ways in which an item fails by itself.
type wayToFail struct {
	name, after string // what the command does when it has written
	spec        api.JobSpec
	limit       float64
	code        string // of the end, if there is a licence
	outcome     string
}

func waysToFail(t *testing.T) []wayToFail {
	none := t.TempDir() + "/none.png"
	return []wayToFail{
		{name: "exit", after: "exit 3", outcome: "exit"},
		{name: "signal", after: "kill -9 $$", outcome: "signal"},
		{name: "regex_errors", after: "exit 0", spec: api.JobSpec{RegexErrors: "Maxon|trouble"}, outcome: "launch", code: "log_error"},
		{name: "validate", after: "exit 0", spec: api.JobSpec{Validate: []string{none}}, outcome: "launch", code: codeOutput},
		{name: "postflight of the item", after: "exit 0", spec: api.JobSpec{AgendaPostflights: []string{"false"}}, outcome: "launch", code: codePostflight},
		{name: "postflight", after: "exit 0", spec: api.JobSpec{Postflights: []string{"exit 7"}}, outcome: "launch", code: codePostflight},
		{name: "time limit", after: "sleep 300", limit: 1, outcome: core.OutcomeTimeout},
		{name: "memory of the stage", after: "exit 0", spec: api.JobSpec{AgendaPostflights: []string{"kill -9 $$"}}, outcome: "launch", code: codePostflight},
	}
}

// TestNoLicenceInEveryFailure: however an item fails, an item that says it found no licence ends so, and an item that
// does not say it ends as it did. A done item is done, whatever it wrote.
func TestNoLicenceInEveryFailure(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	runAgent(t, testConfig(t, f))
	f.with(func() { f.grace = 0.1 })
	sayings := map[string]bool{
		`echo trouble`: false,
		`printf 'trouble\n\033[31m[Redshift] Maxon licensing\033[0m error: no server\r'`:       true,
		`{ printf 'trouble '; printf 'x%.0s' $(seq 9000); echo 'Maxon licensing error'; } >&2`: true,
	}
	type try struct {
		way  wayToFail
		says bool
		line string
	}
	var tries []try
	for line, says := range sayings {
		for _, way := range waysToFail(t) {
			tries = append(tries, try{way, says, line})
		}
		tries = append(tries, try{wayToFail{name: "none", after: "exit 0", outcome: "exit"}, false, line})
	}
	tries = append(tries, try{wayToFail{name: "preflight", spec: api.JobSpec{AgendaPreflights: []string{"echo no Maxon licensing error; false"}}, outcome: "launch"}, true, "true"})
	for n, one := range tries {
		spec := one.way.spec
		spec.Job, spec.Command, spec.Shell = int64(n+1), []string{one.line + "; " + one.way.after}, true
		base := f.job(spec.Job, "true")
		spec.User, spec.Cwd, spec.Version = base.User, base.Cwd, base.Version
		f.with(func() {
			f.specs[spec.Job] = spec
			key := core.Key{Job: spec.Job}
			f.wantLocked(key, attempt(spec.Job, 0))
			d := f.wanted[key]
			d.TimeLimit = one.way.limit
			d.NoLicence = []api.NoLicence{{Resource: "license.rs", Pattern: "licensing error"}}
			f.wanted[key] = d
		})
	}
	for n, one := range tries {
		end := f.awaitEnd(attempt(int64(n+1), 0))
		code, resource := one.way.code, ""
		if one.says {
			code, resource = shim.CodeNoLicence, "license.rs"
		}
		if end.Outcome != one.way.outcome || end.Code != code || end.Resource != resource || one.says && !strings.Contains(end.Reason, "licensing error") {
			t.Errorf("%s after %s: %+v, want the code %q", one.way.name, one.line, end, code)
		}
	}
}

// TestProcessesLeftAreReported: what qb ends behind an item is named in its log and in its end, whether it held the
// output or not; an item that leaves nothing, or what ends by itself at once, has no such words.
func TestProcessesLeftAreReported(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	runAgent(t, testConfig(t, f))
	type try struct {
		left   int
		closed bool
		exit   int
	}
	var tries []try
	var specs []api.JobSpec
	for left := range 7 {
		for _, closed := range []bool{false, true} {
			one := try{left, closed, left % 3}
			to := ""
			if closed {
				to = " >/dev/null 2>&1"
			}
			line := strings.Repeat("sleep 600"+to+" & ", left) + fmt.Sprintf("true & wait $!; echo done; exit %d", one.exit)
			tries = append(tries, one)
			specs = append(specs, api.JobSpec{Command: []string{line}, Shell: true})
		}
	}
	f.each(specs, func(n int, end api.Finished) {
		one := tries[n]
		want := ""
		switch {
		case one.left == 1:
			want = "a process that the item left behind was ended (sleep)"
		case one.left > 4:
			want = fmt.Sprintf("%d processes that the item left behind were ended (sleep, sleep, sleep, sleep, …)", one.left)
		case one.left > 0:
			want = fmt.Sprintf("%d processes that the item left behind were ended (sleep%s)", one.left, strings.Repeat(", sleep", one.left-1))
		}
		code, reason, log := "", want, ""
		if want != "" {
			log = "[qb: " + want + "]\n"
			if code = "processes_left"; one.exit != 0 {
				code, reason = "", fmt.Sprintf("exit status %d; %s", one.exit, want)
			}
		}
		if end.ExitCode == nil || *end.ExitCode != one.exit || end.Code != code || end.Reason != reason {
			t.Errorf("%+v: %+v, want %q", one, end, reason)
		}
		if out := f.output(end.Attempt, shim.StreamErr); out != log {
			t.Errorf("%+v: its log says %q, want %q", one, out, log)
		}
		if out := f.output(end.Attempt, shim.StreamOut); out != "done\n" {
			t.Errorf("%+v: its output is %q", one, out)
		}
	})
}
