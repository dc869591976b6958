package browser_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// sessions is a template whose first item writes more than is shown at once, with environments whose names mean harm.
const sessions = `specificationVersion: jobtemplate-2023-09
name: Sessions
jobEnvironments:
- name: <b>Project</b>
  script:
    actions:
      onEnter: {command: echo, args: [the project]}
      onExit: {command: echo, args: [Entering nothing]}
- name: Values
  variables: {SHOW: sh010}
steps:
- name: <i>Render</i>
  parameterSpace:
    taskParameterDefinitions: [{name: Frame, type: INT, range: 1-2}]
  script:
    actions:
      onRun: {command: bash, args: [-c, "seq $((160000 - {{Task.Param.Frame}} * 79900)); exit {{Task.Param.Frame}}"]}
`

// controls is a template with every control.
const controls = `specificationVersion: jobtemplate-2023-09
name: Shot {{Param.Shot}}
parameterDefinitions:
- {name: Shot, type: STRING, default: sh010, description: "As production names it.\nWith its sequence.", userInterface: {label: Shot name, groupLabel: Shot}}
- {name: Notes, type: STRING, default: "", userInterface: {control: MULTILINE_EDIT, groupLabel: Shot}}
- {name: Frames, type: INT, minValue: 1, maxValue: 200, default: 3, userInterface: {groupLabel: Render}}
- {name: Gamma, type: FLOAT, minValue: 0.1, default: 2.2, userInterface: {groupLabel: Render}}
- {name: Quality, type: STRING, allowedValues: [draft, final], default: draft, userInterface: {groupLabel: Render}}
- {name: Denoise, type: STRING, allowedValues: ["On", "Off"], userInterface: {control: CHECK_BOX, groupLabel: Render}}
- {name: Secret, type: STRING, default: hidden, userInterface: {control: HIDDEN}}
- {name: Scene, type: PATH, objectType: FILE, dataFlow: IN}
- {name: Movie, type: PATH, objectType: FILE, dataFlow: OUT, default: /tmp/movie}
- {name: Cache, type: PATH, default: /tmp}
jobEnvironments:
- name: Project
  variables: {SHOT: "{{Param.Shot}}"}
steps:
- name: Render
  parameterSpace:
    taskParameterDefinitions: [{name: Frame, type: INT, range: "1-{{Param.Frames}}"}]
  script:
    actions:
      onRun: {command: echo, args: ["{{Param.Shot}} {{Param.Quality}} {{Param.Denoise}} {{Param.Gamma}} {{Param.Secret}} {{RawParam.Scene}} {{Param.Notes}}"]}
- name: Encode
  dependencies: [{dependsOn: Render}]
  script: {actions: {onRun: {command: "true"}}}
`

const send = `document.querySelector("form.page").requestSubmit()`

// enter types into what a selector finds.
func (b *tab) enter(t *testing.T, selector, text string) {
	t.Helper()
	b.until(t, "the field "+selector, fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		if (!e) return false;
		Object.getOwnPropertyDescriptor(Object.getPrototypeOf(e), "value").set.call(e, %s);
		for (const event of ["input", "change"]) e.dispatchEvent(new Event(event, {bubbles: true}));
		return true;
	})()`, "main "+selector, quotedJS(text)))
}

// parameter is the field of a parameter.
func parameter(name string) string { return "[name=parameter-" + name + "]" }

// blamed waits for a problem beside a field.
func (b *tab) blamed(t *testing.T, selector, text string) {
	t.Helper()
	b.until(t, text+" at "+selector, fmt.Sprintf(`document.querySelector(%q)?.closest("label").querySelector(".field-error")?.innerText.includes(%q)`,
		"main "+selector+"[aria-invalid]", text))
}

// TestPageTemplate: a template becomes a form, which says what is wrong where it is, and submits a job for each step.
func TestPageTemplate(t *testing.T) {
	t.Parallel()
	b := openTab(t, startFarm(t, "4", "-conf", siteConf(t)))
	b.logIn(t)
	b.goTo(t, "#/submit")
	b.press(t, "Template")
	b.enter(t, "[name=template]", strings.Replace(controls, "type: FLOAT", "type: DOUBLE", 1))
	b.see(t, "parameterDefinitions[3].type")
	b.press(t, "line 7, column")
	if at := js[string](t, b, `document.activeElement.value.slice(document.activeElement.selectionStart).split(",")[0]`); at != "DOUBLE" {
		t.Errorf("a problem leads to %q", at)
	}
	b.picture(t, "template-problem")
	found := b.axe(t, axeScript(t))
	b.chosen(t)
	b.blamed(t, parameter("Scene"), "value")
	if shown := js[string](t, b, `[...document.querySelectorAll("[name^=parameter-]")].map(e => e.type + " " + e.value).join("|")`); shown !=
		"text studio|text |text /tmp/movie|text /tmp|text sh010|textarea |number 3|number 2.2|select-one draft|checkbox on" {
		t.Errorf("the fields are %s", shown)
	}
	b.until(t, "one problem alone", `document.querySelectorAll("main [aria-invalid]").length === 1`)
	js[any](t, b, send)
	if at := js[string](t, b, `document.activeElement.name`); at != "parameter-Scene" {
		t.Errorf("a wrong form leads to %q", at)
	}
	b.enter(t, parameter("Scene"), "scene.blend")
	b.blamed(t, parameter("Scene"), "absolute")
	b.enter(t, parameter("Scene"), "/proj/scene.blend")
	b.see(t, "2 steps, 4 items")
	b.enter(t, parameter("Frames"), "999")
	b.blamed(t, parameter("Frames"), "200")
	b.enter(t, "[name=priority]", "x")
	b.blamed(t, "[name=priority]", "no whole number")
	b.enter(t, parameter("Frames"), "25")
	b.enter(t, parameter("Quality"), "final")
	b.enter(t, parameter("Notes"), "one\ntwo")
	js[any](t, b, `document.querySelector("main `+parameter("Denoise")+`").click()`)
	b.enter(t, "[name=priority]", "0")
	b.blamed(t, "[name=priority]", "0")
	b.enter(t, "[name=priority]", "77")
	b.see(t, "2 steps, 26 items")
	b.see(t, "of an environment of the site")
	b.see(t, "Site, Project")
	b.see(t, "-p Quality=final -p Denoise=On -p Scene=/proj/scene.blend -priority 77 render.yaml")
	b.formSeen(t, "template")
	js[any](t, b, `(() => { const real = fetch; globalThis.fetch = async (...given) => { const answer = await real(...given); if (given[0] !== "/v1/openjd") return answer; globalThis.fetch = real; throw new Error("the answer is lost"); }; })()`)
	js[any](t, b, send)
	b.see(t, "the answer is lost")
	js[any](t, b, send)
	b.see(t, "2 jobs are submitted")
	if all := strings.Fields(b.run("jobs", "-user", "all", "-no-headers", "-fields", "id")); len(all) != 3 {
		t.Errorf("a submission that is sent again leaves the jobs %s", all)
	}
	b.picture(t, "template-made")
	found = append(found, b.axe(t, "")...)
	ids := js[[]string](t, b, `[...document.querySelectorAll("main td:first-child a")].map(a => a.innerText)`)
	b.press(t, "Encode")
	b.until(t, "the job", `location.hash === "#/jobs/`+ids[1]+`"`)
	b.run("wait", ids[1])
	if got := b.run("jobs", "-no-headers", "-fields", "name,priority,label,status", ids[0]); strings.Join(strings.Fields(got), " ") != "Shot sh010 77 Render complete" {
		t.Errorf("the job is %q", got)
	}
	if got := b.run("out", ids[0]+":24"); !strings.Contains(got, "sh010 final On 2.2 hidden /proj/scene.blend one\ntwo") {
		t.Errorf("an item prints %q", got)
	}
	for _, wrong := range append(found, b.wrongs...) {
		t.Error(wrong)
	}
}

// siteConf is a qb.conf with an environment of the site.
func siteConf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	conf, file := filepath.Join(dir, "qb.conf"), filepath.Join(dir, "site.yaml")
	const site = `specificationVersion: environment-2023-09
parameterDefinitions: [{name: Packages, type: STRING, default: studio}]
environment: {name: Site, variables: {PACKAGES: "{{Param.Packages}}"}}
`
	err := os.WriteFile(file, []byte(site), 0o600)
	if err == nil {
		err = os.WriteFile(conf, fmt.Appendf(nil, "supervisor_openjd_environments = {\"/\" = %q}\n", file), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

// chosen chooses a file that is too large, drops one, and pastes what is too large.
func (b *tab) chosen(t *testing.T) {
	t.Helper()
	const files = `(() => { globalThis.filesOf = (name, text) => { const all = new DataTransfer(); all.items.add(new File([text], name)); return all; }; })()`
	js[any](t, b, files)
	js[any](t, b, `(() => { const e = document.querySelector("main [type=file]"); e.files = filesOf("huge.yaml", "#".repeat(1048577)).files; e.dispatchEvent(new Event("change", {bubbles: true})); })()`)
	b.see(t, "huge.yaml is larger than 1 MiB")
	b.enter(t, "[name=template]", strings.Repeat("#", 1<<20+1))
	b.see(t, "1048576")
	if !js[bool](t, b, `(() => { const drop = new DragEvent("drop", {dataTransfer: filesOf("render.yaml", `+quotedJS(controls)+`), cancelable: true, bubbles: true}); document.querySelector("main [name=template]").dispatchEvent(drop); return drop.defaultPrevented; })()`) {
		t.Error("the browser takes a file that is dropped")
	}
}

// formSeen looks at a form on both screens, in both themes, as a person and as axe.
func (b *tab) formSeen(t *testing.T, name string) {
	t.Helper()
	for _, width := range []int64{390, 1440} {
		b.do(t, chromedp.EmulateViewport(width, 1400))
		for _, theme := range []string{"dark", "light"} {
			b.theme(t, theme)
			time.Sleep(400 * time.Millisecond) // of the transition
			b.picture(t, fmt.Sprintf("%s-%s-%d", name, theme, width))
			for _, found := range b.axe(t, "") {
				t.Errorf("%s, %d: %s", theme, width, found)
			}
		}
		if wide := js[int64](t, b, `document.documentElement.scrollWidth`); wide > width {
			t.Errorf("the form is %d pixels wide of %d", wide, width)
		}
	}
}

// TestPageAttackTemplate: a template whose names, values and problems mean harm is text.
func TestPageAttackTemplate(t *testing.T) {
	t.Parallel()
	b := openTab(t, startFarm(t, "2"))
	b.logIn(t)
	b.goTo(t, "#/submit/template")
	clean := strings.NewReplacer("\a", "", "\x1b", "", "{{", "{", "}}", "}")
	for _, text := range scripted {
		b.enter(t, "[name=template]", harmful(text)) // has problems
		b.enter(t, "[name=cluster]", text)
		time.Sleep(time.Second) // of the check
		wrongs := js[[]string](t, b, harm)
		b.enter(t, "[name=template]", harmful(clean.Replace(text)))
		b.enter(t, parameter("valueOf"), "b")
		time.Sleep(time.Second) // of the check
		for _, found := range append(wrongs, js[[]string](t, b, harm)...) {
			t.Errorf("%q: %s", text, found)
		}
	}
	b.enter(t, "[name=cluster]", "/")
	b.see(t, "1 step, 1 item")
	b.picture(t, "template-hostile")
	js[any](t, b, send)
	b.until(t, "the job", `/jobs\/\d+$/.test(location.hash)`)
	b.see(t, "complete")
	for _, wrong := range append(b.wrongs, js[[]string](t, b, harm)...) {
		t.Error(wrong)
	}
}

// harmful is a template that has a text wherever it may be.
func harmful(text string) string {
	runes := []rune(text)
	name := string(runes[:min(64, len(runes))])
	template, _ := json.Marshal(map[string]any{
		"specificationVersion": "jobtemplate-2023-09", "name": "{{Param.__proto__}}",
		"parameterDefinitions": []any{
			map[string]any{"name": "__proto__", "type": "STRING", "default": text, "description": text},
			map[string]any{"name": "constructor", "type": "STRING", "default": "a", "userInterface": map[string]string{"label": name, "groupLabel": name}},
			map[string]any{"name": "valueOf", "type": "STRING", "allowedValues": []string{text, "b"}},
		},
		"steps": []any{map[string]any{
			"name": name, "script": map[string]any{"actions": map[string]any{"onRun": map[string]string{"command": "true"}}},
			"parameterSpace":   map[string]any{"taskParameterDefinitions": []any{map[string]any{"name": "T", "type": "STRING", "range": []string{text}}}},
			"stepEnvironments": []any{map[string]any{"name": name, "variables": map[string]string{"A": text}}},
		}},
	})
	return string(template)
}

// TestPageSession: the output of an item of Open Job Description has headings by action, which lead to their lines.
func TestPageSession(t *testing.T) {
	t.Parallel()
	f, file := startFarm(t, "2"), filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(file, []byte(sessions), 0o600); err != nil {
		t.Fatal(err)
	}
	job := f.run("openjd", "submit", file)
	other := f.sub("-range", "1", "echo", "Entering environment: of no session")
	b := openTab(t, f)
	b.logIn(t)
	b.goTo(t, "#/jobs/"+job+"/items/1")
	b.until(t, "all headings", `document.querySelectorAll(".headings li").length === 3`)
	want := []string{"Entering <b>Project</b> ✓ exit 0", "Entering Values", "Running <i>Render</i>: Frame=2 ✕ exit 2"}
	got := js[[]string](t, b, `[...document.querySelectorAll(".headings li")].map(li => li.innerText.replace(/\s+/g, " ").trim())`)
	if !slices.Equal(got, want) {
		t.Errorf("the headings are %q, not %q", got, want)
	}
	if got := js[string](t, b, `document.querySelectorAll(".headings button")[2].title`); got != "in <b>Project</b>, Values" {
		t.Errorf("the item runs %q", got)
	}
	b.pictures(t, "session", "#/jobs/"+job+"/items/1")
	b.press(t, "Running <i>")
	b.until(t, "the line", `document.querySelector(".log-line.found.heading")?.innerText.includes("Running task of <i>Render</i>: Frame=2")`)
	b.accessible(t)
	b.goTo(t, "#/jobs/"+other+"/items/1")
	b.see(t, "of no session")
	if js[bool](t, b, `document.querySelector(".headings") !== null`) {
		t.Error("what is no session has headings")
	}
	for _, wrong := range append(b.wrongs, js[[]string](t, b, harm)...) {
		t.Error(strings.TrimSpace(wrong))
	}
}

// TestPageInstance: an instance has the actions of its sessions in order, each in the environments that it was in, with
// the output of long items, and a task that failed ends its session.
func TestPageInstance(t *testing.T) {
	t.Parallel()
	f, file := startFarm(t, "1"), filepath.Join(t.TempDir(), "template.yaml")
	template := strings.NewReplacer("range: 1-2", "range: 1-3", "exit {{Task.Param.Frame}}", "exit $(({{Task.Param.Frame}} == 2))").Replace(sessions)
	if err := os.WriteFile(file, []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	job := f.run("openjd", "submit", file)
	b := openTab(t, f)
	b.logIn(t)
	b.goTo(t, "#/jobs/"+job+"/items/1")
	b.press(t, "Instance "+job+".0")
	begin, end := []string{"Entering <b>Project</b> ✓ exit 0 item ", "Entering Values item "}, []string{"Leaving Values between items", "Leaving <b>Project</b> ✓ exit 0 between items"}
	want := slices.Concat([]string{begin[0] + "0", begin[1] + "0", "Running <i>Render</i>: Frame=1 ✓ exit 0 item 0", "Running <i>Render</i>: Frame=2 ✕ exit 1 item 1"},
		end, []string{begin[0] + "2", begin[1] + "2", "Running <i>Render</i>: Frame=3 ✓ exit 0 item 2"}, end)
	b.until(t, "all actions", fmt.Sprintf(`document.querySelectorAll(".headings li").length === %d`, len(want)))
	got := js[[]string](t, b, `[...document.querySelectorAll(".headings li")].map(li => li.innerText.replace(/\s+/g, " ").trim())`)
	if !slices.Equal(got, want) {
		t.Errorf("the actions are\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := js[string](t, b, `document.querySelectorAll(".headings li")[8].querySelector("[title]").title`); got != "in <b>Project</b>, Values" {
		t.Errorf("the last item runs %q", got)
	}
	b.see(t, "qbout -session "+job+".0")
	b.pictures(t, "instance", "#/jobs/"+job+"/instances/0")
	b.accessible(t)
	b.goTo(t, "#/jobs/"+job+"/instances/7")
	b.see(t, "This instance had no item")
	for _, wrong := range append(b.wrongs, js[[]string](t, b, harm)...) {
		t.Error(strings.TrimSpace(wrong))
	}
}

// TestPageType: a job type is submitted by its form, and the command that is shown submits the same job.
func TestPageType(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "2")
	b := openTab(t, f)
	b.logIn(t)
	b.goTo(t, "#/submit/type")
	b.see(t, "choose…")
	choose := func(name string) {
		b.until(t, "the type "+name, fmt.Sprintf(`(() => {
			const e = document.querySelector("main [name=type]");
			if (![...(e?.options ?? [])].some(o => o.value === %[1]q)) return false;
			e.value = %[1]q;
			e.dispatchEvent(new Event("change", {bubbles: true}));
			return true;
		})()`, name))
	}
	choose("blender")
	b.see(t, "frames of a Blender scene; version")
	b.until(t, "the scene", fmt.Sprintf(`document.querySelector(%q) !== null`, parameter("Scene")))
	choose("command")
	b.until(t, "the line", fmt.Sprintf(`document.querySelector(%q) !== null && document.querySelector(%q) === null`, parameter("Command"), parameter("Scene")))
	b.enter(t, parameter("Command"), `echo "it's $FRAME"`)
	b.enter(t, parameter("Frames"), "1-x")
	b.see(t, "1-x")
	b.enter(t, parameter("Frames"), "1-5:2")
	b.enter(t, "[name=priority]", "77")
	b.see(t, "1 step, 3 items")
	for _, found := range b.axe(t, axeScript(t)) {
		t.Error(found)
	}
	b.formSeen(t, "type")
	shown := b.commandOf(t, "qbsub -type command")
	js[any](t, b, send)
	b.until(t, "the job", `/jobs\/\d+$/.test(location.hash)`)
	b.see(t, "complete")
	first, second := js[string](t, b, `location.hash.split("/").at(-1)`), f.run(shown...)
	for _, id := range []string{first, second} {
		f.run("wait", id)
		if got := f.run("out", id+":1"); !strings.Contains(got, "it's 3\n") {
			t.Errorf("item 1 of job %s prints %q", id, got)
		}
		if got := f.run("jobs", id); !strings.Contains(got, "  77  ") || !strings.Contains(got, "3/3") {
			t.Errorf("the job is %q", got)
		}
	}
	b.goTo(t, "#/submit/type")
	for _, wrong := range append(b.wrongs, js[[]string](t, b, harm)...) {
		t.Error(strings.TrimSpace(wrong))
	}
}

// TestPageBusyInstance: of a job whose items end faster than its instance is read, the view shows actions while it runs.
func TestPageBusyInstance(t *testing.T) {
	t.Parallel()
	f, file := startFarm(t, "1"), filepath.Join(t.TempDir(), "template.yaml")
	template := strings.NewReplacer("range: 1-2", "range: 1-3000", "seq $((160000 - {{Task.Param.Frame}} * 79900)); exit {{Task.Param.Frame}}", "sleep 0.05").Replace(sessions)
	if err := os.WriteFile(file, []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	job := f.run("openjd", "submit", file)
	b := openTab(t, f)
	b.logIn(t)
	b.goTo(t, "#/jobs/"+job)
	b.until(t, "many items are done", `Number(/([0-9]+) of 3,000 complete/.exec(document.querySelector("main").innerHTML)?.[1]) > 60`)
	js[any](t, b, `(() => { const real = fetch; window.fetch = async (...all) => { await new Promise(done => setTimeout(done, 40)); return real(...all); }; })()`) // as from another town
	b.goTo(t, "#/jobs/"+job+"/instances/0")
	b.until(t, "actions of the latest items", `document.querySelectorAll(".headings li").length >= 50`)
	first := js[string](t, b, `document.querySelector(".headings li a").innerText`)
	b.until(t, "actions of later ones", fmt.Sprintf(`document.querySelector(".headings li a").innerText !== %q`, first))
	if !strings.Contains(f.run("jobs", job), "running") {
		t.Error("the job ended before it was looked at")
	}
	f.run("kill", job)
}

// accessible has axe look at a view in both themes.
func (b *tab) accessible(t *testing.T) {
	t.Helper()
	script := axeScript(t)
	for _, theme := range []string{"light", "dark"} {
		b.theme(t, theme)
		time.Sleep(400 * time.Millisecond) // of the transition
		for _, found := range b.axe(t, script) {
			t.Errorf("%s: %s", theme, found)
		}
	}
}
