package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"qb/openjd"
)

// A trial runs the steps of a template, each in a session of its own.
type trial struct {
	t      *testing.T
	config Config
	lock   sync.Mutex
	output []string
	said   []string // messages
	values map[string]string
	others []*openjd.EnvironmentTemplate
}

func newTrial(t *testing.T) *trial {
	r := &trial{t: t}
	r.config = Config{Dir: t.TempDir(), Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere"}}
	r.config.Log = func(line string) {
		r.lock.Lock()
		defer r.lock.Unlock()
		r.output = append(r.output, line)
	}
	r.config.Report = func(m Message) {
		r.lock.Lock()
		defer r.lock.Unlock()
		r.said = append(r.said, fmt.Sprintf("%s %s", m.Kind, m.Text))
	}
	return r
}

func (r *trial) job(template string) *openjd.Job {
	r.t.Helper()
	if !strings.HasPrefix(template, "specificationVersion") {
		template = "specificationVersion: jobtemplate-2023-09\nextensions: [REDACTED_ENV_VARS, FEATURE_BUNDLE_1]\nname: J\n" + template
	}
	d, err := openjd.ReadJob([]byte(template), openjd.YAML)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, template)
	}
	j, err := openjd.CreateJob(d, openjd.Submission{Values: r.values, Environments: r.others})
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

// run runs the first step, and returns the error of the first action that fails.
func (r *trial) run(ctx context.Context, template string) error {
	r.t.Helper()
	return r.runStep(ctx, r.job(template), 0)
}

func (r *trial) runStep(ctx context.Context, j *openjd.Job, n int) (first error) {
	r.t.Helper()
	s, err := New(j, r.config)
	if err != nil {
		r.t.Fatal(err)
	}
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	step := j.Steps[n]
	for _, e := range slices.Concat(j.Environments, step.Environments) {
		if first == nil {
			keep(s.Enter(ctx, e))
		}
	}
	for i := int64(0); i < step.Space.Len() && first == nil; i++ {
		keep(s.Run(ctx, step, step.Space.At(i)))
	}
	keep(s.Close(context.WithoutCancel(ctx)))
	if _, err := os.Stat(s.Dir()); !errors.Is(err, os.ErrNotExist) {
		r.t.Errorf("the folder of the session remains: %v", err)
	}
	return first
}

func (r *trial) text() string {
	r.lock.Lock()
	defer r.lock.Unlock()
	return strings.Join(r.output, "\n")
}

func (r *trial) has(parts ...string) {
	r.t.Helper()
	at := 0
	text := r.text()
	for _, part := range parts {
		next := strings.Index(text[at:], part)
		if next < 0 {
			r.t.Errorf("the output has no %q after byte %d:\n%s", part, at, text)
			return
		}
		at += next + len(part)
	}
}

func (r *trial) hasNot(parts ...string) {
	r.t.Helper()
	for _, part := range parts {
		if strings.Contains(r.text(), part) {
			r.t.Errorf("the output has %q:\n%s", part, r.text())
		}
	}
}

func sh(script string) string {
	return fmt.Sprintf("{command: sh, args: [-c, %q]}", script)
}

// TestOrder: environments are entered in their order, tasks run in theirs, and environments are left in reverse.
func TestOrder(t *testing.T) {
	r := newTrial(t)
	err := r.run(t.Context(), `
jobEnvironments:
- {name: A, variables: {X: a, Y: a}, script: {actions: {onEnter: `+sh("echo enter A $X")+`, onExit: `+sh("echo exit A $X $Y")+`}}}
- {name: B, script: {actions: {onEnter: `+sh("echo enter B; echo openjd_env: X=b=c; echo openjd_unset_env: Y")+`, onExit: `+sh("echo exit B $X [$Y]")+`}}}
steps:
- name: S
  stepEnvironments:
  - {name: C, variables: {Z: c}}
  parameterSpace: {taskParameterDefinitions: [{name: F, type: INT, range: "1-2"}]}
  script:
    actions: {onRun: `+sh("echo task {{Task.Param.F}} $X [$Y] $Z $HOME; pwd")+`}
`)
	if err != nil {
		t.Errorf("%v\n%s", err, r.text())
	}
	r.has("enter A a\n", "enter B\n", "task 1 b=c [] c /nowhere\n", "openjd-session-", "task 2 b=c [] c", "exit B b=c []\n", "exit A a a\n")
}

// TestFailure: a failure ends the session, and what was entered or attempted is left.
func TestFailure(t *testing.T) {
	r := newTrial(t)
	template := `
jobEnvironments:
- {name: A, script: {actions: {onEnter: %s, onExit: ` + sh("echo exit A") + `}}}
- {name: B, script: {actions: {onEnter: %s, onExit: ` + sh("echo exit B; exit 7") + `}}}
- {name: C, script: {actions: {onEnter: ` + sh("echo enter C") + `, onExit: ` + sh("echo exit C") + `}}}
steps:
- name: S
  script: {actions: {onRun: ` + sh("echo task") + `}}
`
	err := r.run(t.Context(), fmt.Sprintf(template, sh("echo enter A"), sh("echo enter B; echo openjd_fail: no licence; exit 3")))
	var failed *ActionError
	if !errors.As(err, &failed) || failed.Cause != Failed || failed.Code != 3 || failed.Action != "onEnter of B" || failed.Reason != "no licence" {
		t.Errorf("the error is %v", err)
	}
	r.has("enter A\n", "enter B\n", "exited with code: 3", "exit B\n", "exited with code: 7", "exit A")
	r.hasNot("enter C", "exit C", "task\n")
	if got := fmt.Sprint(r.said); got != "[fail no licence]" {
		t.Errorf("the messages are %s", got)
	}
}

func TestFailureOfTask(t *testing.T) {
	r := newTrial(t)
	err := r.run(t.Context(), `
steps:
- name: S
  parameterSpace: {taskParameterDefinitions: [{name: F, type: INT, range: "1-3"}]}
  script: {actions: {onRun: `+sh("echo task {{Task.Param.F}}; [ {{Task.Param.F}} != 2 ]")+`}}
`)
	if err == nil || err.Error() != "task of S: F=2 failed with exit code 1" {
		t.Errorf("the error is %v", err)
	}
	r.has("task 1\n", "task 2\n")
	r.hasNot("task 3\n")
}

func TestNoProgram(t *testing.T) {
	for command, want := range map[string]string{
		"no-such-program": "there is no program no-such-program in the PATH of the action",
		"/no/such":        "no such file or directory",
		"/etc/passwd":     "/etc/passwd is not a program",
		"{{RawParam.A}}":  "the command is empty once it is resolved",
	} {
		r := newTrial(t)
		err := r.run(t.Context(), "parameterDefinitions: [{name: A, type: STRING, default: ''}]\n"+
			"steps: [{name: S, script: {actions: {onRun: {command: '"+command+"'}}}}]\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", command, err, want)
		}
	}
}

// TestFiles: files are written again before each action, with the values of the task.
func TestFiles(t *testing.T) {
	r := newTrial(t)
	err := r.run(t.Context(), `
jobEnvironments:
- name: A
  script:
    actions: {onEnter: {command: "{{Env.File.Enter}}"}, onExit: `+sh("cat {{Env.File.Enter}}")+`}
    embeddedFiles: [{name: Enter, type: TEXT, runnable: true, data: "#!/bin/sh\necho enter of $0 {{Session.HasPathMappingRules}}\n"}]
steps:
- name: S
  parameterSpace: {taskParameterDefinitions: [{name: F, type: INT, range: "1-2"}]}
  script:
    actions: {onRun: `+sh("cat {{Task.File.Data}}; od -c {{Task.File.End}}; echo spoilt > {{Task.File.Data}}; stat -c %a.%n {{Task.File.Data}} .")+`}
    embeddedFiles:
    - {name: Data, type: TEXT, filename: data.txt, data: "frame {{Task.Param.F}} beside {{Task.File.End}}\n"}
    - {name: End, type: TEXT, data: "a\nb", endOfLine: CRLF}
`)
	if err != nil {
		t.Errorf("%v\n%s", err, r.text())
	}
	r.has("enter of /", "false\n", "frame 1 beside /", `a  \r  \n   b`, "600./", "700..\n", "frame 2 beside", "echo enter of $0 false")
}

func TestSimpleAction(t *testing.T) {
	r := newTrial(t)
	if err := r.run(t.Context(), "steps: [{name: S, bash: {script: 'echo $0 $1', args: [x]}}]\n"); err != nil {
		t.Error(err)
	}
	r.has("/Script.sh x\n")
}

// TestPaths: rules are applied to PATH values, and given to programs in a file.
func TestPaths(t *testing.T) {
	r := newTrial(t)
	r.config.Rules = []openjd.PathRule{{Format: "WINDOWS", Source: `Z:\proj`, Destination: "/mnt/proj"}}
	r.values = map[string]string{"P": `z:/Proj/a b`, "S": `Z:\proj`}
	err := r.run(t.Context(), `
parameterDefinitions: [{name: P, type: PATH}, {name: S, type: STRING}]
steps:
- name: S
  script:
    actions: {onRun: {command: printf, args: ["%s|", "{{Param.P}}", "{{RawParam.P}}", "{{Param.S}}", "{{Session.HasPathMappingRules}}"]}}
`)
	if err != nil {
		t.Error(err)
	}
	r.has(`/mnt/proj/a b|z:/Proj/a b|Z:\proj|true|`)
	r = newTrial(t)
	r.config.Rules = []openjd.PathRule{{Format: "POSIX", Source: "/a", Destination: "/b"}}
	err = r.run(t.Context(), "steps: [{name: S, script: {actions: {onRun: {command: cat, args: ['{{Session.PathMappingRulesFile}}']}}}}]\n")
	if err != nil {
		t.Error(err)
	}
	r.has(`"version": "pathmapping-1.0"`, `"source_path": "/a"`)
}

// TestMessages: progress and status are reported, and lines that nearly change a variable fail the action.
func TestMessages(t *testing.T) {
	r := newTrial(t)
	lines := "openjd_progress: 12.5\nopenjd_progress: 101\nopenjd_progress: NaN\nopenjd_status: loading a\nopenjd_status:b\n openjd_status: c\nopenjd_other: d\n"
	err := r.run(t.Context(), "steps: [{name: S, script: {actions: {onRun: {command: printf, args: ['%s', '{{RawParam.L}}']}}}}]\n"+
		"parameterDefinitions: [{name: L, type: STRING, default: \""+strings.ReplaceAll(lines, "\n", `\n`)+"\"}]\n")
	if err != nil {
		t.Error(err)
	}
	if got := strings.Join(r.said, "|"); got != "progress 12.5|status loading a" {
		t.Errorf("the messages are %s", got)
	}
	for line, want := range map[string]string{
		"openjd_env:A=b":             "the line is nearly openjd_env",
		"  openjd_env: A=b":          "the line is nearly openjd_env",
		"OPENJD_ENV: A=b":            "the line is nearly openjd_env",
		"openjd_unset_env A":         "the line is nearly openjd_unset_env",
		"openjd_env: A":              "openjd_env: write NAME=VALUE",
		"openjd_env: 1A=b":           "openjd_env: write NAME=VALUE",
		"openjd_env: A B=c":          "openjd_env: write NAME=VALUE",
		"openjd_env: \"A=b":          "must be a JSON string",
		"openjd_unset_env: A=b":      "openjd_unset_env: write the name",
		"openjd_env: A" + "\u00a0=b": "openjd_env: write NAME=VALUE",
	} {
		r := newTrial(t)
		r.values = map[string]string{"L": line}
		err := r.run(t.Context(), "parameterDefinitions: [{name: L, type: STRING}]\njobEnvironments:\n"+
			"- {name: E, script: {actions: {onEnter: {command: printf, args: ['%s\\n', '{{RawParam.L}}']}}}}\n"+
			"steps: [{name: S, script: {actions: {onRun: {command: echo, args: [task]}}}}]\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %q", line, err, want)
		}
		r.hasNot("task\n")
	}
}

// TestLongLines: a line of a megabyte is cut where it is output, and refused where it is a variable.
func TestLongLines(t *testing.T) {
	for _, line := range []string{"x", "openjd_env: A=", "openjd_status: "} {
		r := newTrial(t)
		err := r.run(t.Context(), "jobEnvironments:\n- {name: E, script: {actions: {onEnter: "+
			sh("printf '"+line+"'; head -c 1000000 /dev/zero | tr '\\000' y; echo; echo next")+"}}}\n"+
			"steps: [{name: S, script: {actions: {onRun: "+sh("echo task")+"}}}]\n")
		isVariable := strings.HasPrefix(line, "openjd_env")
		if isVariable != (err != nil && strings.Contains(err.Error(), "too long for a variable")) {
			t.Errorf("%s: %v", line, err)
		}
		if len(r.text()) > 80<<10 {
			t.Errorf("%s: %d bytes are logged", line, len(r.text()))
		}
		if !isVariable {
			r.has("the line is cut", "\nnext\n", "task\n")
		}
	}
}

// TestSecrets: values are masked in their own line and all later ones, the longest first, and each line of a value.
func TestSecrets(t *testing.T) {
	r := newTrial(t)
	err := r.run(t.Context(), `
jobEnvironments:
- name: E
  script:
    actions:
      onEnter: {command: sh, args: ["{{Env.File.Enter}}"]}
      onExit: `+sh("echo exit hunter2")+`
    embeddedFiles:
    - name: Enter
      type: TEXT
      data: |
        echo 'openjd_redacted_env: PW=hunter2'
        echo 'openjd_redacted_env: LONG=hunter2-and-more'
        printf '%s\n' 'openjd_redacted_env: "LINES=first\nsecond\nthird"'
        echo 'openjd_redacted_env: BLANK= '
        echo 'openjd_redacted_env: KEY =of a secret'
        echo openjd_status: with hunter2
steps:
- name: S
  script: {actions: {onRun: {command: sh, args: ["{{Task.File.Run}}"]}}, embeddedFiles: [{name: Run, type: TEXT,
    data: "echo var:$PW; echo hunter2-and-more; echo a second one; printf '%s' \"$LINES\" | wc -l; echo blank stays; echo [$KEY] of a secret\n"}]}
`)
	if err != nil {
		t.Errorf("%v\n%s", err, r.text())
	}
	r.has("openjd_redacted_env: PW=********\n", "LONG=********\n", "LINES=********\n", "KEY =********\n", "no variable is set", "openjd_status: with ********",
		"var:********\n", "********\n", "a ******** one", "2\n", "blank stays", "[] ********", "exit ********")
	r.hasNot("hunter2", "-and-more", "second")
	if got := fmt.Sprint(r.said); got != "[status with ********]" {
		t.Errorf("the messages are %s", got)
	}
}

// TestSecretsAreMaskedWithoutExtension: the variable is not set then.
func TestSecretsAreMaskedWithoutExtension(t *testing.T) {
	r := newTrial(t)
	err := r.run(t.Context(), "specificationVersion: jobtemplate-2023-09\nname: J\njobEnvironments:\n"+
		"- {name: E, script: {actions: {onEnter: "+sh("echo openjd_redacted_env: PW=hunter2")+"}}}\n"+
		"steps: [{name: S, script: {actions: {onRun: "+sh("echo [$PW] hunter2")+"}}}]\n")
	if err != nil {
		t.Error(err)
	}
	r.has("PW=********\n", "[] ********")
}

// TestTimeout: an overdue action is ended with all that it started.
func TestTimeout(t *testing.T) {
	r := newTrial(t)
	began := time.Now()
	err := r.run(t.Context(), "steps: [{name: S, script: {actions: {onRun: {command: sh, timeout: 1, args: [-c, 'setsid sleep 60 & echo child $!; sleep 60; echo late']}}}}]\n")
	var failed *ActionError
	if !errors.As(err, &failed) || failed.Cause != TimedOut || time.Since(began) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	r.hasNot("late")
	checkGone(t, r)
}

// checkGone: the process whose number is after child in the output has ended.
func checkGone(t *testing.T, r *trial) {
	t.Helper()
	pid := 0
	for _, l := range r.output {
		fmt.Sscanf(l, "child %d", &pid)
	}
	if pid == 0 {
		t.Fatalf("no child:\n%s", r.text())
	}
	for range 100 {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("process %d still runs", pid)
}

// TestNotify: a canceled action is notified, reads until when it has time, and is ended if it goes on.
func TestNotify(t *testing.T) {
	for name, script := range map[string]string{
		"ends":                            `trap 'cat cancel_info.json; echo polite; exit 5' TERM; echo ready; while :; do sleep 0.05; done`,
		"goes on":                         `trap 'cat cancel_info.json; echo polite' TERM; sleep 60 & echo child $!; echo ready; while :; do sleep 0.05; done`,
		"has less than the template says": `trap 'cat cancel_info.json; echo polite' TERM; echo ready; while :; do sleep 0.05; done`,
	} {
		r := newTrial(t)
		period := 1
		if strings.HasPrefix(name, "has less") {
			period = 600
			r.config.Notice = time.Second
		}
		ctx, cancel := context.WithCancel(t.Context())
		log := r.config.Log
		r.config.Log = func(line string) {
			log(line)
			if line == "ready" {
				cancel()
			}
		}
		began := time.Now()
		err := r.run(ctx, `
jobEnvironments: [{name: E, script: {actions: {onExit: `+sh("echo exit E")+`}}}]
steps: [{name: S, script: {actions: {onRun: {command: sh, args: [-c, "`+strings.ReplaceAll(script, `"`, `\"`)+`"], cancelation: {mode: NOTIFY_THEN_TERMINATE, notifyPeriodInSeconds: `+fmt.Sprint(period)+`}}}}}]
`)
		var failed *ActionError
		if !errors.As(err, &failed) || failed.Cause != Canceled || time.Since(began) > 20*time.Second {
			t.Errorf("%s: %v after %v", name, err, time.Since(began))
		}
		r.has(`{"NotifyEnd":"20`, "polite", "exit E")
		if name == "goes on" {
			checkGone(t, r)
		}
	}
}

// TestDaemon: a process that an environment leaves behind goes on between actions, its output is logged, and it ends
// with the session.
func TestDaemon(t *testing.T) {
	r := newTrial(t)
	err := r.run(t.Context(), `
jobEnvironments:
- name: E
  script:
    actions:
      onEnter: `+sh("(trap '' HUP; while [ ! -e go ]; do sleep 0.02; done; echo daemon works; echo openjd_env: LATE=x; touch done; while :; do sleep 0.1; done) & echo child $!")+`
steps:
- name: S
  script: {actions: {onRun: `+sh("touch go; while [ ! -e done ]; do sleep 0.02; done; echo task [$LATE]")+`}}
`)
	if err != nil {
		t.Errorf("%v\n%s", err, r.text())
	}
	r.has("child ", "exited with code: 0", "daemon works", "task []")
	checkGone(t, r)
}

// TestAllOutputIsRead: what an action writes at its end is there, although another process holds the pipe.
func TestAllOutputIsRead(t *testing.T) {
	for range 5 {
		r := newTrial(t)
		err := r.run(t.Context(), "jobEnvironments: [{name: E, script: {actions: {onEnter: "+
			sh("sleep 60 & i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo openjd_env: A=last")+"}}}]\n"+
			"steps: [{name: S, script: {actions: {onRun: "+sh("echo got $A")+"}}}]\n")
		if err != nil {
			t.Fatal(err)
		}
		r.has("line 2999\n", "got last")
	}
}

// TestInterrupted: a session that is canceled runs no more tasks, and leaves its environments.
func TestInterrupted(t *testing.T) {
	r := newTrial(t)
	ctx, cancel := context.WithCancel(t.Context())
	log := r.config.Log
	r.config.Log = func(line string) {
		log(line)
		if line == "ready" {
			cancel()
		}
	}
	err := r.run(ctx, "jobEnvironments: [{name: E, script: {actions: {onEnter: "+sh("echo ready; sleep 60")+", onExit: "+sh("echo exit E")+"}}}]\n"+
		"steps: [{name: S, script: {actions: {onRun: "+sh("echo task")+"}}}]\n")
	var failed *ActionError
	if !errors.As(err, &failed) || failed.Cause != Canceled {
		t.Errorf("%v", err)
	}
	r.has("ready", "exit E")
	r.hasNot("task\n")
}

// TestWorkingDirectoryVariable: actions find the folder of their session by the variable that scripts rely on.
func TestWorkingDirectoryVariable(t *testing.T) {
	r := newTrial(t)
	r.config.Environ = append(r.config.Environ, "OPENJD_SESSION_WORKING_DIR=/of/another/session")
	script := `test "$OPENJD_SESSION_WORKING_DIR" = "{{Session.WorkingDirectory}}" && echo same`
	if err := r.run(t.Context(), "steps: [{name: S, script: {actions: {onRun: "+sh(script)+"}}}]\n"); err != nil {
		t.Error(err)
	}
	r.has("\nsame\n")
}

// TestPathOfEnvironment: a program is looked up in the PATH that an environment sets.
func TestPathOfEnvironment(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "my-tool"), []byte("#!/bin/sh\necho my tool\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := newTrial(t)
	err := r.run(t.Context(), "jobEnvironments: [{name: E, script: {actions: {onEnter: "+sh("echo openjd_env: PATH="+dir+":$PATH")+"}}}]\n"+
		"steps: [{name: S, script: {actions: {onRun: {command: my-tool}}}}]\n")
	if err != nil {
		t.Error(err)
	}
	r.has("my tool")
}

// TestSecretsOfErrors: an error that names a secret masks it, as its reader prints it.
func TestSecretsOfErrors(t *testing.T) {
	r := newTrial(t)
	err := r.run(t.Context(), "jobEnvironments: [{name: E, script: {actions: {onEnter: "+sh("echo openjd_redacted_env: PATH=/bin:/hunter2")+"}}}]\n"+
		"steps: [{name: S, script: {actions: {onRun: {command: no-such-program}}}}]\n")
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), mask) {
		t.Errorf("the error is %v", err)
	}
	r.hasNot("hunter2")
}

// FuzzMessage: a line of output is a message, ordinary output or an error, and never a panic; secrets do not show.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{"openjd_env: A=b", "openjd_redacted_env: A=b", `openjd_env: "A=b\n"`, "openjd_progress: 5", "openjd_", "openjd_unset_env: A"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		m, found, err := parseMessage(line)
		if found && err != nil || found && m.name != "" && !variableName().MatchString(m.name) {
			t.Errorf("%q is %v, %v, %v", line, m, found, err)
		}
		s := &secrets{}
		masked, secret := s.secretLine(line)
		if found && m.Kind == secretVariable && (!secret || len(m.Text) > 3 && strings.TrimSpace(m.Text) != "" && strings.Contains(masked, m.Text) && !strings.Contains("openjd_redacted_env: "+m.name, m.Text) && !strings.Contains(mask, m.Text)) {
			t.Errorf("%q is masked as %q", line, masked)
		}
	})
}

// TestManyTasks: a session keeps nothing of tasks that have ended, and each has its own variables.
func TestManyTasks(t *testing.T) {
	r := newTrial(t)
	j := r.job("steps: [{name: S, script: {actions: {onRun: {command: sh, args: [-c, 'echo $ITEM']}}}}]")
	s, err := New(j, r.config)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 30 {
		s.Use(append(slices.Clone(r.config.Environ), fmt.Sprint("ITEM=item ", n)))
		if err := s.Run(t.Context(), j.Steps[0], nil); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint("item ", n); !slices.Contains(r.output, want) {
			t.Fatalf("no %s in %q", want, r.output)
		}
	}
	if len(s.outputs) > 2 {
		t.Errorf("%d outputs are kept", len(s.outputs))
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
