package browser_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// field is an attribute of a job as the page has it: of the table from which all options are made.
type field struct {
	Name, Flag, In, Kind          string
	Octal, Moment, Seconds, Shown bool
	Words                         map[string]string
}

// value is one that somebody types, and what it is in a request.
type value struct {
	typed string
	is    any
}

// fieldValues are values for the fields that do not accept every value of their kind.
var fieldValues = map[string][]value{
	"cluster":      {{"/first", "/first"}, {"/a b/c", "/a b/c"}},
	"range":        {{"1-10", "1-10"}, {"1-10x3,20", "1-10x3,20"}},
	"dependency":   {{"link-complete-job-1", "link-complete-job-1"}, {"link-done-job-1", "link-done-job-1"}},
	"requirements": {{"host.memory > 3GB", "host.memory > 3GB"}, {"host.os = 'linux'", "host.os = 'linux'"}},
	"reservations": {{"host.processors=2", "host.processors=2"}, {"host.processors=1,host.memory=4GiB", "host.processors=1,host.memory=4GiB"}},
	"restrictions": {{"/first", "/first"}, {"/show/* || /x/+", "/show/* || /x/+"}},
	"security":     {{"group=v", "group=v"}, {"others=k", "others=k"}},
	"hostorder":    {{"+host.memory", "+host.memory"}, {"-host.memory", "-host.memory"}},
	"flags":        {{"uninterruptible", []any{"uninterruptible"}}, {"auto_wrangling, convert_path", []any{"auto_wrangling", "convert_path"}}},
	"cwd":          {{"/tmp", "/tmp"}, {"/proj/a b'c", "/proj/a b'c"}},
	"pid":          {{"1", 1}},
	"mailaddress":  {{"ada@studio.example", []any{"ada@studio.example"}}, {"a@b, b@c", []any{"a@b", "b@c"}}},
	"pathmap":      {{"/a=/b", []any{"/a=/b"}}, {`"/a,b=/c", P:=/p`, []any{"/a,b=/c", "P:=/p"}}},
	"validate": {{"a.exr:10K,b.exr", []any{"a.exr:10K", "b.exr"}}, {`"a,b"".png:10K" , 'c,d':2,e.exr`, []any{`a,b".png:10K`, "c,d:2", "e.exr"}}, {"a.exr:new", []any{"a.exr:new"}},
		{`b.QB_PADDED_FRAME_NUMBER.exr:10K:new, "c,d":new,e:10,"new:":2:new`, []any{"b.QB_PADDED_FRAME_NUMBER.exr:10K:new", "c,d:new", "e:10", "new::2:new"}}},
	"padding":      {{"4", 4}, {"010", 10}},
	"order":        {{"reverse", "reverse"}, {"binary", "binary"}, {"", nil}},
	"start":        {{"2031-02-03T04:05:06Z", "2031-02-03T04:05:06Z"}, {"2031-02-03 04:05", nil}, {"2031-02-03T04:05:06+02:00", "2031-02-03T04:05:06+02:00"}},
	"env":          {{"A=first", map[string]any{"A": "first"}}, {"A=1 'B=it is' \"C=\n'x'\" D=", map[string]any{"A": "1", "B": "it is", "C": "\n'x'", "D": ""}}},
	"umask":        {{"022", 18}, {"7", 7}, {"0", 0}},
	"max_cpus":     {{"*", "*"}, {"0", 0}, {"12", 12}},
	"label":        {{"first", "first"}, {"it's a", "it's a"}},
	"kind":         {{"first", "first"}, {"it's a", "it's a"}},
	"type":         {{"loadonce", "loadonce"}, {"loadonce", "loadonce"}, {"loadonce", "loadonce"}},
	"system":       {{"windows", "windows"}, {"any", "any"}, {"darwin", "darwin"}},
	"profile":      {{"first", "first"}, {"it's a", "it's a"}},
	"regex_errors": {{"^error", "^error"}, {"it's (\\d+)%\n\\$x", "it's (\\d+)%\n\\$x"}},
	"command":      {{"true", []any{"true"}}},
}

// byKind are values of the other fields.
func byKind(f field) []value {
	switch {
	case f.Seconds:
		return []value{{"90", 90}, {"5m", 300}, {"1h30m", 5400}, {"1d12h", 129600}}
	case f.Kind == "number":
		return []value{{"3", 3}, {"010", 10}, {"1000", 1000}}
	case strings.HasSuffix(f.Name, "flights"):
		return []value{{"true", []any{"true"}}, {`echo 'a,b' >x, awk '{print $1,$2}', echo "a\",b",echo \,`, []any{"echo 'a,b' >x", "awk '{print $1,$2}'", `echo "a\",b"`, `echo \,`}}}
	case f.Kind == "list":
		return []value{{"a,b", []any{"a", "b"}}, {" it's a $HOME ,, \"c\"", []any{"it's a $HOME", "\"c\""}}}
	case strings.HasPrefix(f.Name, "regex_"):
		return []value{{"^a", "^a"}, {"(\\d+)'s\n\\[x\\]", "(\\d+)'s\n\\[x\\]"}}
	}
	return []value{{"first", "first"}, {"it's \"a\" $HOME \\ é", "it's \"a\" $HOME \\ é"}, {"-x", "-x"}}
}

// inexpressible is what one door cannot say, with the reason. The list may only shrink.
var inexpressible = map[string]map[string]string{
	"again": {
		"p_agenda":          "the preview items became a job of their own; the job submitted again is the rest",
		"p_agenda_priority": "likewise",
		"p_agenda_cpus":     "likewise",
	},
}

// undefaulted is what doors do not give by themselves where qbsub does, with the reason. The list may only shrink.
var undefaulted = map[string]map[string]string{
	"rest": {"cwd": "a request has no current folder", "umask": "a request has no umask", "system": "a request may come from any machine"},
	"page": {
		"cwd":    "a page has no current folder",
		"umask":  "a page has no umask",
		"system": "who submits by a browser is often at a machine that does not have the job's files",
	},
}

// alone are fields that cannot stand beside others, with those that they need.
var alone = map[string]map[string]value{
	"partitions":        {"range": {"1-10", "1-10"}},
	"postflights":       {},
	"p_agenda":          {"range": {"1-10", "1-10"}},
	"p_agenda_priority": {"range": {"1-10", "1-10"}, "p_agenda": {"2", "2"}},
	"p_agenda_cpus":     {"range": {"1-10", "1-10"}, "p_agenda": {"2", "2"}},
	"pgrp":              {},
	"shell":             {},
}

// aloneValues are the values of fields that stand alone, and of commands.
var aloneValues = map[string][]value{
	"p_agenda": {{"2,4", "2,4"}},
	"pgrp":     {{"1", 1}},
	"shell":    {{"line", true}, {"words", false}},
}

// submissionOf is a submission as somebody types it, by field.
type submissionOf map[string]value

func (s submissionOf) text(name string) string { return s[name].typed }

// cases are submissions that have each value of each field.
func cases(fields []field) (all []submissionOf) {
	rounds := 1
	valuesOf := func(f field) []value {
		if own := aloneValues[f.Name]; own != nil {
			return own
		}
		if own := fieldValues[f.Name]; own != nil {
			return own
		}
		return byKind(f)
	}
	for _, f := range fields {
		if _, apart := alone[f.Name]; !apart {
			rounds = max(rounds, len(valuesOf(f)))
			continue
		}
		for _, v := range valuesOf(f) {
			one := submissionOf{"command": {"true", []any{"true"}}, f.Name: v}
			maps.Copy(one, alone[f.Name])
			all = append(all, one)
		}
	}
	for n := range rounds {
		one := submissionOf{}
		for _, f := range fields {
			if _, apart := alone[f.Name]; !apart {
				values := valuesOf(f)
				one[f.Name] = values[n%len(values)]
			}
		}
		all = append(all, one)
	}
	for line, shell := range map[string]bool{"echo a b": true, "/proj/x": false, " true": true, `echo 'it''s' "$HOME" \ é`: true} {
		all = append(all, submissionOf{"command": {line, []any{line}}, "shell": {"", shell}})
	}
	return append(all, submissionOf{"command": {`render 'a b' "c'd" -x ''`, []any{"render", "a b", "c'd", "-x", ""}}, "shell": {"words", false}},
		submissionOf{"command": {"'/proj/my app'", []any{"/proj/my app"}}, "shell": {"words", false}},
		submissionOf{"command": {"true", []any{"true"}}, "user": {"ada", "ada"}})
}

// doors are a farm and the ways to submit to it.
type doors struct {
	*tab
	t      *testing.T
	fields []field
	needed map[string]bool // entries of the lists that something differs by
	in     *json.Encoder   // to and from the client for Python
	out    *json.Decoder
}

// body is a submission as a request.
func (d *doors) body(s submissionOf) map[string]any {
	body := map[string]any{"status": "blocked"}
	for _, f := range append(d.fields, field{Name: "user"}) {
		v, given := s[f.Name]
		switch {
		case !given || v.is == nil:
		case f.In != "":
			tags, _ := body[f.In].(map[string]any)
			if tags == nil {
				tags = map[string]any{}
			}
			tags[f.Name] = v.is
			body[f.In] = tags
		default:
			body[f.Name] = v.is
		}
	}
	if text := s.text("start"); text == "2031-02-03 04:05" {
		body["start"] = d.ask("moment.js", `m.local("`+text+`")`)
	}
	return body
}

// ask evaluates an expression of a module of the page, m.
func (d *doors) ask(module, expression string) string {
	d.t.Helper()
	js[any](d.t, d.tab, `(() => { window.told = ""; import(performance.getEntriesByType("resource").map(e => e.name).find(n => n.includes("/submit.js")).replace("submit.js", "`+module+`"))
		.then(m => { window.told = `+expression+`; }); })()`)
	d.until(d.t, "an answer of "+module, `window.told`)
	return js[string](d.t, d.tab, `window.told`)
}

// byQbsub submits with the options of the commands.
func (d *doors) byQbsub(s submissionOf) string {
	args := []string{"sub", "-status", "blocked"}
	for _, f := range append(d.fields, field{Name: "user", Flag: "user"}) {
		v, given := s[f.Name]
		switch {
		case !given || f.Name == "command" || f.Name == "shell":
		case f.Words != nil:
			if option := f.Words[v.typed]; option != "" {
				args = append(args, option)
			}
		case f.Name == "env":
			for name, text := range v.is.(map[string]any) {
				args = append(args, "-env", fmt.Sprintf("%s=%s", name, text))
			}
		case f.Flag == "":
			d.t.Errorf("qbsub has no option for %s", f.Name)
		default:
			args = append(args, "-"+f.Flag+"="+v.typed)
		}
	}
	if shell, said := s["shell"].is.(bool); said {
		args = append(args, fmt.Sprintf("-shell=%v", shell))
	}
	args = append(args, "--")
	for _, word := range s["command"].is.([]any) {
		args = append(args, word.(string))
	}
	ids := strings.Fields(d.run(args...))
	return ids[len(ids)-1]
}

// python is a program that submits bodies with the client for Python, as they are or by its own function, and shows
// archives of jobs.
const python = `
import json, sys, warnings
import qb
warnings.simplefilter("ignore")
farm = qb.Client()
for line in sys.stdin:
    kind, given = json.loads(line)
    if kind == "rest":
        answer = farm.request("POST", "/v1/jobs", body=given)["job"]
    elif kind == "python":
        command = given.pop("command")
        answer = farm.submit(command[0] if given.pop("shell", False) else command, **given).id
    else:
        answer = farm.request("GET", "/v1/jobs/%s/archive" % given)["submission"]
    print(json.dumps(answer), flush=True)
`

// startPython starts that program.
func (d *doors) startPython() {
	d.t.Helper()
	folder, err := filepath.Abs("../../python")
	if err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.CommandContext(d.t.Context(), "python3", "-c", python)
	cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+d.state, "PYTHONPATH="+folder)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = in.Close() // it ends
		_ = cmd.Wait()
	})
	d.in, d.out = json.NewEncoder(in), json.NewDecoder(out)
}

func byPython[T any](d *doors, kind string, given any) (answer T) {
	d.t.Helper()
	if err := d.in.Encode([]any{kind, given}); err != nil {
		d.t.Fatal(err)
	}
	if err := d.out.Decode(&answer); err != nil {
		d.t.Fatalf("%s of %v: %v", kind, given, err)
	}
	return answer
}

func (d *doors) archive(job string) map[string]any {
	d.t.Helper()
	return byPython[map[string]any](d, "archive", job)
}

// byPage types a submission and sends it. Command is what the page says that does the same.
func (d *doors) byPage(s submissionOf) (job, command string) {
	d.t.Helper()
	d.goTo(d.t, "#/submit")
	d.press(d.t, "Clear")
	js[any](d.t, d.tab, `(() => { const e = document.querySelector("main .choice input[type=checkbox]"); if (!e.checked) e.click(); })()`)
	d.until(d.t, "the fields", `document.querySelector("main [name=umask]")`)
	set := func(name, text string) {
		d.t.Helper()
		d.until(d.t, "the field "+name, fmt.Sprintf(`(() => { const e = document.querySelector("main [name=%s]"); if (!e) return false;
			Object.getOwnPropertyDescriptor(Object.getPrototypeOf(e), "value").set.call(e, %s);
			e.dispatchEvent(new Event("input", {bubbles: true})); e.dispatchEvent(new Event("change", {bubbles: true})); return true; })()`, name, quotedJS(text)))
	}
	for _, f := range append(d.fields, field{Name: "user"}) {
		v, given := s[f.Name]
		switch {
		case !given || inexpressible["page"][f.Name] != "":
		case f.Name == "max_cpus" && v.typed == "*":
			d.choose("as many as the site allows")
		case f.Name == "max_cpus" && v.typed == "0":
			d.choose("no secondary instances")
		case f.Name == "max_cpus":
			js[any](d.t, d.tab, `(() => { const e = document.querySelector("main [aria-label=max_cpus]"); e.value = "`+v.typed+`"; e.dispatchEvent(new Event("input", {bubbles: true})); })()`)
		default:
			set(f.Name, v.typed)
		}
	}
	d.choose("submit it blocked")
	return d.sendPage()
}

func quotedJS(text string) string {
	data, _ := json.Marshal(text) // a text always encodes
	return string(data)
}

func (d *doors) choose(label string) {
	d.t.Helper()
	js[any](d.t, d.tab, `(() => { const e = [...document.querySelectorAll("main .choice")].find(e => e.innerText.includes("`+label+`")).querySelector("input"); if (!e.checked) e.click(); })()`)
}

// sendPage copies the command and submits what the form has.
func (d *doors) sendPage() (job, command string) {
	d.t.Helper()
	js[any](d.t, d.tab, `(() => { window.copied = ""; navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }; })()`)
	d.until(d.t, "the copy", `(() => { document.querySelector("main .command button")?.click(); return window.copied; })()`)
	command = js[string](d.t, d.tab, `window.copied`)
	js[any](d.t, d.tab, `document.querySelector("form.page").requestSubmit()`)
	d.until(d.t, "the submission", `/jobs\/\d+$/.test(location.hash)`)
	return js[string](d.t, d.tab, `location.hash.split("/").at(-1)`), command
}

// again presses *Submit again* of a job, and *Submit*.
func (d *doors) again(job string) string {
	d.t.Helper()
	d.goTo(d.t, "#/submit")
	d.press(d.t, "Clear")
	d.goTo(d.t, "#/submit?from="+job)
	d.until(d.t, "the job", `document.querySelector("main [name=command]")?.value`)
	id, _ := d.sendPage()
	return id
}

// byCommand has a shell run what the page says.
func (d *doors) byCommand(command, folder string) string {
	d.t.Helper()
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+d.state, "PATH="+folder+":"+os.Getenv("PATH"))
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("%s: %v %s", command, err, out)
	}
	ids := strings.Fields(string(out))
	return ids[len(ids)-1]
}

// same compares the archive of a job with that of qbsub's, but for what the door cannot say or does not give.
func (d *doors) same(door string, s submissionOf, job string, want map[string]any) {
	d.t.Helper()
	got := d.archive(job)
	for _, name := range slices.Sorted(maps.Keys(maps.Collect(func(yield func(string, bool) bool) {
		for _, of := range []map[string]any{want, got} {
			for name := range of {
				if !yield(name, true) {
					return
				}
			}
		}
	}))) {
		_, given := s[name]
		if name == "pgrp" && !given { // of preview items: that of the first job
			continue
		}
		if reflect.DeepEqual(got[name], want[name]) {
			continue
		}
		if inexpressible[door][name] != "" || !given && undefaulted[door][name] != "" {
			d.needed[door+" "+name] = true
			continue
		}
		d.t.Errorf("%s: %s is %v, by qbsub it is %v; typed %q, job %s", door, name, got[name], want[name], s.text(name), job)
	}
}

// TestPageDoors submits each field by each of the doors, the page, qbsub, REST and Python, and compares the archives of
// the jobs; so it does with the command that the page shows, and with what *Submit again* makes of each.
func TestPageDoors(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "-slots", "2")
	f.env = append(f.env, "QB_SUPERVISOR_ACCOUNTS=open")
	f.start("127.0.0.1:0")
	f.adminToken = f.run("admin", "token", "create", "-user", "root", "-role", "admin")
	f.sub("-name", canary, "-status", "blocked", "true")
	d := &doors{tab: openTab(t, f), t: t, needed: map[string]bool{}}
	d.startPython()
	d.logIn(t)
	d.goTo(t, "#/submit")
	d.see(t, "Expert Mode")
	if err := json.Unmarshal([]byte(d.ask("attributes.js", `JSON.stringify(m.default)`)), &d.fields); err != nil || len(d.fields) < 50 {
		t.Fatal(len(d.fields), err)
	}
	links := t.TempDir()
	if err := os.Symlink(d.qb, filepath.Join(links, "qbsub")); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range append(cases(d.fields), submissionOf{"command": {"true", []any{"true"}}}) {
		for name := range s {
			seen[name] = true
		}
		by := d.byQbsub(s)
		want := d.archive(by)
		d.same("rest", s, fmt.Sprint(byPython[int](d, "rest", d.body(s))), want)
		d.same("python", s, fmt.Sprint(byPython[int](d, "python", d.body(s))), want)
		page, command := d.byPage(s)
		d.same("page", s, page, want)
		d.same("page", s, d.byCommand(command, links), want)
		d.same("again", s, d.again(by), want)
	}
	for _, f := range d.fields {
		if !seen[f.Name] {
			t.Errorf("no submission has the field %s", f.Name)
		}
	}
	for _, list := range []map[string]map[string]string{inexpressible, undefaulted} {
		for door, names := range list {
			for name := range names {
				if !d.needed[door+" "+name] {
					t.Errorf("%s has %s as the others do; take it off the list", door, name)
				}
			}
		}
	}
	for _, wrong := range d.wrongs {
		t.Error(wrong)
	}
}
