package browser_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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
	b.until(t, "all headings", `document.querySelectorAll(".headings li").length === 5`)
	want := []string{"Entering <b>Project</b> ✓ exit 0", "Entering Values", "Running <i>Render</i>: Frame=2 ✕ exit 2", "Leaving Values",
		"Leaving <b>Project</b> ✓ exit 0"}
	got := js[[]string](t, b, `[...document.querySelectorAll(".headings li")].map(li => li.innerText.replace(/\s+/g, " ").trim())`)
	if !slices.Equal(got, want) {
		t.Errorf("the headings are %q, not %q", got, want)
	}
	if got := js[string](t, b, `document.querySelectorAll(".headings button")[2].title`); got != "in <b>Project</b>, Values" {
		t.Errorf("the item runs %q", got)
	}
	b.pictures(t, "session", "#/jobs/"+job+"/items/1")
	b.press(t, "Leaving <b>")
	b.until(t, "the line", `document.querySelector(".log-line.found.heading")?.innerText.includes("Leaving environment: <b>Project</b>")`)
	script := axeScript(t)
	for _, theme := range []string{"light", "dark"} {
		b.theme(t, theme)
		time.Sleep(400 * time.Millisecond) // of the transition
		for _, found := range b.axe(t, script) {
			t.Errorf("%s: %s", theme, found)
		}
	}
	b.goTo(t, "#/jobs/"+job+"/items/0")
	b.see(t, "Actions in the part that is shown")
	if got := js[string](t, b, `document.querySelector(".headings button").title`); got != "in <b>Project</b>" {
		t.Errorf("the first action of a part is %q", got)
	}
	b.goTo(t, "#/jobs/"+other+"/items/1")
	b.see(t, "of no session")
	if js[bool](t, b, `document.querySelector(".headings") !== null`) {
		t.Error("what is no session has headings")
	}
	for _, wrong := range append(b.wrongs, js[[]string](t, b, harm)...) {
		t.Error(strings.TrimSpace(wrong))
	}
}
