package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// docsRun runs the examples of the documents in their order, all on one farm.
type docsRun struct {
	t     *testing.T
	farm  *testFarm
	box   string // in place of the machine's folders: /etc, /backups and the like lie below it
	env   []string
	names map[string]string // what a document writes for what is here: numbers of jobs, hosts, folders
	dir   string            // the current folder of the document
	said  string            // what the block before printed
	ran   int
}

// docsConf is the qb.conf of that farm. Items find the programs of the examples on the PATH.
const docsConf = `supervisor_kill_grace = "1s"
supervisor_default_memory = "20MB"
worker_pass_env = ["PATH"]
worker_lowest_uid = 1
supervisor_global_resources = "license.nuke=20,license_host.maya=10"
`

// docsPrelude is what the setups of examples may use.
const docsPrelude = `
name() { [ -n "$2" ] && printf '%s\t%s\n' "$1" "$2" >> "$NAMES"; }   # name WRITTEN HERE
program() { (echo "#!/bin/sh"; cat) > "$BOX/bin/$1" && chmod 755 "$BOX/bin/$1"; }        # program NAME < SCRIPT
until_says() { for _ in $(seq 600); do "${@:2}" 2>&1 | grep -Eq -- "$1" && return; sleep 0.1; done; return 1; }
`

// blockWithin is the time for one block, with its setup.
const blockWithin = farmWithin

// TestDocs holds the documents to docRules, and runs each example that none of its marks excuses: commands by bash,
// Python by python3, TOML by qb config check, SQL by psql, JSON by the endpoint that the mark names. What a document
// shows as output is what it prints. A mark is an HTML comment before the block, which readers do not
// see:
//
//	<!-- run first: SCRIPT -->    bash that prepares: "name rn01 vm-1" has rn01 in this document mean vm-1 from here on
//	<!-- run as USER -->          as this user of the system, where the test is root; sudo before a command is root
//	<!-- on another machine -->   with another home, without the farm's state folder; it reads what the setup wrote into "typed"
//	<!-- not run: REASON -->      one of notRun; "not run, WORDS: REASON" excuses the lines that begin with the words
//	<!-- run by FILE -->          a test that has these lines
//	<!-- written to FILE -->      a file of this content, which the next examples use
//	<!-- printed -->              what the block before prints
//	<!-- sent to POST /PATH -->   each JSON value is a body that is taken
//	<!-- answer to POST /PATH BODY -->  what is answered to that body
//	<!-- found in GET /PATH -->   an object, whose members one in the answer has, maybe with others
//	<!-- numbers vary -->         in the output any number matches any other
//
// In an output … matches any text, and alone on its line for any lines.
func TestDocs(t *testing.T) {
	t.Parallel()
	var all []example
	for _, document := range documentsOf(t, "../..") {
		text, err := os.ReadFile(filepath.Join("../..", document))
		if err != nil {
			t.Fatal(err)
		}
		examples, problems := examplesOf(document, string(text))
		for _, problem := range problems {
			t.Error(problem)
		}
		all = append(all, examples...)
	}
	excused := 0
	for i, e := range all {
		for _, problem := range e.problems("../..") {
			t.Errorf("%s: %s", e.at(), problem)
		}
		for _, m := range all[i].marks {
			if m[0] == "not run" {
				excused++
			}
		}
	}
	if excused > mostNotRun {
		t.Errorf("%d examples or lines are not run; at most %d may be, and the number may only shrink", excused, mostNotRun)
	}
	if t.Failed() {
		return
	}
	r := startDocs(t)
	document := ""
	for _, e := range all {
		if e.document != document {
			document = e.document
			r.open(document)
		}
		r.try(e)
	}
	r.end()
	t.Logf("%d of %d examples were run", r.ran, len(all))
}

func startDocs(t *testing.T) *docsRun {
	dir := farmFolder(t)
	box := filepath.Join(dir, "box")
	state := filepath.Join(dir, "farm")
	home := filepath.Join(box, "home")
	for _, folder := range []string{"bin", "etc/qb", "backups", "proj", "home/.local/state", "other"} {
		if err := os.MkdirAll(filepath.Join(box, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(box, "etc/qb.conf")
	workers := fmt.Sprintf("supervisor_worker_configfile = %q\n", filepath.Join(box, "etc/qb/workers.conf"))
	err = errors.Join(os.WriteFile(conf, []byte(docsConf+workers), 0o644),
		os.WriteFile(filepath.Join(box, "etc/qb/workers.conf"), []byte("[default]\n"), 0o644),
		os.Symlink(state, filepath.Join(home, ".local/state/qb")))
	if err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + filepath.Join(box, "bin") + ":" + os.Getenv("PATH") + ":" + filepath.Join(root, "bin")
	r := &docsRun{t: t, box: box, env: append(os.Environ(), path, "QB_STATE="+state, "QB_CONF="+os.DevNull, "HOME="+home, "BOX="+box,
		"NAMES="+filepath.Join(box, "names"), "ROOT="+root, "PYTHONPATH="+filepath.Join(root, "python"), "PYTHONDONTWRITEBYTECODE=1",
		"CONF="+conf, "TZ=UTC", "LC_ALL=C.UTF-8")}
	r.farm = &testFarm{t: t, state: state, env: []string{path, "QB_WORKER_NAME=vm"},
		args: []string{"-conf", conf, "-listen", "0.0.0.0:0", "-hosts", "2", "-slots", "8"}}
	r.farm.start()
	var file struct {
		URL string `json:"database_url"`
	}
	text, err := os.ReadFile(filepath.Join(state, "farm.json"))
	if err = errors.Join(err, json.Unmarshal(text, &file)); err != nil {
		t.Fatal(err)
	}
	r.env = append(r.env, "DATABASE_URL="+file.URL)
	t.Cleanup(func() { _ = r.farm.cmd.Process.Kill() }) // it has ended if all went well
	return r
}

// open begins a document: with a folder of its own, which has what lies beside the documents.
func (r *docsRun) open(document string) {
	r.dir = filepath.Join(r.box, "work", strings.ReplaceAll(document, "/", "-"))
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		r.t.Fatal(err)
	}
	for _, file := range []string{"qb.conf.example", "examples", "python"} {
		root, err := filepath.Abs("../..")
		if err == nil {
			err = os.Symlink(filepath.Join(root, file), filepath.Join(r.dir, file))
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	const noneRuns = `idle() { ! qbhosts | grep -Eq ' [1-9][0-9]*/[0-9]+ '; echo "idle $?"; }; until_says 'idle 0' idle`
	// What examples of the document before have left ends within its grace, and holds slots until then.
	if _, err := r.bash("qbkill -user all -active || true; "+noneRuns, caller{}); err != nil {
		r.t.Error(err)
	}
	at := r.farm.url[strings.LastIndex(r.farm.url, ":"):]
	r.names = map[string]string{
		"http://127.0.0.1:50001": r.farm.url, "https://farm:50001": "https://127.0.0.1" + at, "/run/qb/qb.sock": filepath.Join(r.farm.state, "qb.sock"),
		"/etc/qb.conf": filepath.Join(r.box, "etc/qb.conf"), "/etc/qb/": filepath.Join(r.box, "etc/qb") + "/",
		"/backups/": filepath.Join(r.box, "backups") + "/", "/proj/": filepath.Join(r.box, "proj") + "/",
	}
	r.said = ""
}

// try runs an example.
func (r *docsRun) try(e example) {
	r.t.Helper()
	var by caller
	by.user, _ = e.mark("run as")
	if by.user != "" && os.Geteuid() != 0 {
		return
	}
	_, by.elsewhere = e.mark("on another machine")
	if setup, ok := e.mark("run first"); ok {
		_ = os.Remove(filepath.Join(r.box, "names")) // of an example that failed
		if _, err := r.bash(setup, caller{}); err != nil {
			r.t.Errorf("%s: run first: %v", e.at(), err)
			return
		}
		r.takeNames()
	}
	if _, ok := e.mark("run by"); ok || e.excused() {
		return
	}
	r.ran++
	began := time.Now()
	defer func() {
		if took := time.Since(began); took > time.Second {
			r.t.Logf("%s: %v", e.at(), took.Round(time.Millisecond))
		}
	}()
	_, vary := e.mark("numbers vary")
	if _, ok := e.mark("printed"); ok {
		r.compare(e, e.text, r.said, vary)
		return
	}
	if file, ok := e.mark("written to"); ok {
		if file = r.named(file); !filepath.IsAbs(file) {
			file = filepath.Join(r.dir, file)
		}
		if err := os.WriteFile(file, []byte(r.named(e.text)), 0o644); err != nil {
			r.t.Errorf("%s: %v", e.at(), err)
		}
		return
	}
	var err error
	switch e.lang {
	case "console":
		r.console(e, by, vary)
		return
	case "json":
		err = r.json(e, by, vary)
	default:
		r.said, err = r.bash(r.named(e.bash()), by)
	}
	if err != nil {
		r.t.Errorf("%s: %v", e.at(), err)
	}
}

// console types the commands of a session, and compares what each prints.
func (r *docsRun) console(e example, by caller, vary bool) {
	for _, one := range e.session() {
		if one.skipped {
			continue
		}
		as, command := by, one.command
		if after, ok := strings.CutPrefix(command, "sudo "); ok {
			as.user, command = "", after
		}
		printed, _ := r.bash(r.named(command), as) // a refusal is an answer that may be shown
		if id := strings.TrimSpace(one.printed); isID(id) && isID(strings.TrimSpace(printed)) {
			r.names[id] = strings.TrimSpace(printed) // a job, of which the rest of the document speaks
		}
		r.compare(e, one.printed, printed, vary)
	}
}

func isID(text string) bool { return regexp.MustCompile(`^[0-9]+$`).MatchString(text) }

// json sends bodies, or compares an answer.
func (r *docsRun) json(e example, by caller, vary bool) error {
	if to, ok := e.mark("sent to"); ok {
		decoder := json.NewDecoder(strings.NewReader(e.text))
		for {
			var body json.RawMessage
			if err := decoder.Decode(&body); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if _, err := r.call(to, string(body), by); err != nil {
				return err
			}
		}
	}
	to, whole := e.mark("answer to")
	if !whole {
		to, _ = e.mark("found in")
	}
	text, err := r.call(to, "", by)
	if err != nil {
		return err
	}
	var shown, got any
	if err := errors.Join(json.Unmarshal([]byte(e.text), &shown), json.Unmarshal([]byte(text), &got)); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	if whole {
		r.compare(e, canonical(shown), canonical(got), vary)
		return nil
	}
	pattern := outputPattern(r.named(canonical(shown)), vary)
	if !holds(got, shown, func(part any) bool { return pattern.MatchString(tidied(canonical(part))) }) {
		return fmt.Errorf("%s is nowhere in\n%s", e.text, canonical(got))
	}
	return nil
}

// call makes a call of REST: METHOD PATH BODY, or the body beside.
func (r *docsRun) call(to, body string, by caller) (string, error) {
	words := strings.SplitN(strings.TrimSpace(to), " ", 3)
	if len(words) < 2 {
		return "", fmt.Errorf("%q is no METHOD /PATH", to)
	}
	if len(words) == 3 {
		body = words[2]
	}
	if body != "" {
		body = " -d '" + strings.ReplaceAll(body, "'", `'\''`) + "'"
	}
	call := fmt.Sprintf("curl -sS --fail-with-body --unix-socket /run/qb/qb.sock -X %s -H 'Content-Type: application/json' 'http://localhost%s'%s",
		words[0], words[1], body)
	return r.bash(r.named(call), by)
}

// holds says whether somewhere in a value is an object of which the members that the shown one has pass.
func holds(value, shown any, passes func(any) bool) bool {
	switch v := value.(type) {
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return holds(one, shown, passes) })
	case map[string]any:
		part := map[string]any{}
		for name := range shown.(map[string]any) {
			part[name] = v[name]
		}
		if passes(part) {
			return true
		}
		for _, one := range v {
			if holds(one, shown, passes) {
				return true
			}
		}
	}
	return false
}

// canonical writes JSON with a member or element on each line, members in order.
func canonical(value any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return err.Error()
	}
	return b.String()
}

func (r *docsRun) compare(e example, shown, printed string, vary bool) {
	r.t.Helper()
	if shown = r.named(shown); !outputPattern(shown, vary).MatchString(tidied(printed)) {
		r.t.Errorf("%s: the document shows\n%s\nand this is printed:\n%s", e.at(), shown, printed)
	}
}

// caller is who runs an example, and where: without a user the one of the test.
type caller struct {
	user      string
	elsewhere bool
}

// bash runs a script in the document's folder, and returns what it prints, standard error too.
func (r *docsRun) bash(script string, by caller) (printed string, err error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), blockWithin)
	defer cancel()
	args := []string{"bash", "-c", docsPrelude + "set -e -o pipefail\n" + script}
	if by.user != "" {
		args = append([]string{"setpriv", "--reuid", by.user, "--regid", by.user, "--init-groups", "env", "USER=" + by.user, "LOGNAME=" + by.user}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = r.dir, r.env
	if by.elsewhere {
		other := filepath.Join(r.box, "other")
		cmd.Env = slices.DeleteFunc(slices.Clone(r.env), func(v string) bool { return strings.HasPrefix(v, "QB_STATE=") })
		cmd.Env = append(cmd.Env, "HOME="+other)
		if typed, err := os.Open(filepath.Join(r.dir, "typed")); err == nil {
			defer typed.Close()
			cmd.Stdin = typed
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	text, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w of\n%s\nwhich prints\n%s", err, script, text)
	}
	return string(text), err
}

// takeNames takes what a setup has named.
func (r *docsRun) takeNames() {
	file := filepath.Join(r.box, "names")
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err = errors.Join(err, os.Remove(file)); err != nil {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		written, here, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		r.names[written] = here
	}
}

// named puts what is here in the place of what a document writes. A name is a whole word; a path is no part of another.
func (r *docsRun) named(text string) string {
	written := make([]string, 0, len(r.names))
	for name := range r.names {
		written = append(written, name)
	}
	slices.SortFunc(written, func(a, b string) int { return len(b) - len(a) })
	for i, name := range written {
		pattern := regexp.QuoteMeta(name)
		if isWord(name[0]) {
			pattern = `(\b)` + pattern
		} else {
			pattern = `(^|[^\w/~.-])` + pattern
		}
		if isWord(name[len(name)-1]) {
			pattern += `\b`
		}
		text = regexp.MustCompile(`(?m)`+pattern).ReplaceAllString(text, "${1}"+placeholder(i))
	}
	for i, name := range written {
		text = strings.ReplaceAll(text, placeholder(i), r.names[name])
	}
	return text
}

// placeholder replaces a name until all are found, so that no name is looked for in the value of another.
func placeholder(i int) string { return string(rune(0xE000 + i)) }

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// end stops the farm, which must have kept its books.
func (r *docsRun) end() {
	r.farm.run(0, "qb", "audit")
	if err := errors.Join(r.farm.cmd.Process.Signal(syscall.SIGTERM), r.farm.cmd.Wait()); err != nil {
		r.t.Errorf("the farm ends with %v; its log:\n%s", err, r.farm.log)
	}
}
