package browser_test

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// TestPageModules: the browser takes in every module of the page, also those of views that no test opens.
func TestPageModules(t *testing.T) {
	t.Parallel()
	b := openTab(t, startFarm(t, "1"))
	b.logIn(t)
	js[any](t, b, `globalThis.bad = null, Promise.allSettled(Object.keys(JSON.parse(document.querySelector("script[type=importmap]").textContent).integrity).map(file => import(file).catch(e => { throw file + ": " + e; }))).then(all => { bad = all.map(r => r.reason ?? ""); }), true`)
	b.until(t, "all modules", `bad !== null`)
	list := js[[]string](t, b, `bad`)
	if len(list) < 30 {
		t.Errorf("only %d modules", len(list))
	}
	for _, wrong := range list {
		if wrong != "" {
			t.Error(wrong)
		}
	}
}

// commandOf is the command that a view shows beside a button, without qb's prefix.
func (b *tab) commandOf(t *testing.T, beginning string) []string {
	t.Helper()
	b.until(t, "the command "+beginning, `[...document.querySelectorAll(".command code")].some(e => e.innerText.startsWith("`+beginning+`"))`)
	text := js[string](t, b, `[...document.querySelectorAll(".command code")].find(e => e.innerText.startsWith("`+beginning+`")).innerText`)
	words, err := exec.Command("sh", "-c", `printf '%s\0' `+strings.TrimPrefix(text, "qb")).Output() // as a shell reads it
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")
}

// TestPageWrangler: somebody finds out why a job waits, follows the link to the job in its way, tries a change of that one, makes it,
// and sees the first job start.
func TestPageWrangler(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "2")
	holder := f.sub("-name", "holds_all", "-priority", "100", "-cpus", "2", "-range", "1-50", "sleep", "600")
	b := openTab(t, f)
	b.logIn(t)
	b.goTo(t, "#/jobs/"+holder)
	b.until(t, "both instances", `document.querySelector("main").innerText.includes("2 + 0")`)
	waits := f.sub("-name", "cannot_start", "-priority", "200", "-range", "1-5", "sleep", "600")
	b.goTo(t, "#/jobs?q=status%3Apending")
	b.see(t, "cannot_start")
	b.until(t, "the reason in the row", `document.querySelector(".row-line")?.innerText.includes("slot") === true`)
	b.press(t, waits)
	b.see(t, "Why it waits")
	b.picture(t, "story-why")
	b.until(t, "the link to the job in its way", `(() => { const a = document.querySelector('.holders a[href$="/jobs/`+holder+`"]'); a?.click(); return Boolean(a); })()`)
	b.see(t, "holds_all")
	b.until(t, "the way to what-if", `(() => { const a = document.querySelector('main a[href*="what-if"]'); a?.click(); return Boolean(a); })()`)
	b.fill(t, "cpus", "1")
	b.see(t, "Who gains, who loses")
	b.see(t, "gains 1")
	b.picture(t, "story-whatif")
	b.press(t, "Do it")
	b.see(t, "Change job ")
	b.press(t, "Do it")
	b.goTo(t, "#/jobs/"+waits)
	b.until(t, "the start", `document.querySelector(".state")?.innerText.includes("running") === true`)
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// TestPageArtist: somebody submits with the expert's fields, sees the items, opens the log of one that failed, retries it, and takes back
// a kill.
func TestPageArtist(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "2")
	b := openTab(t, f)
	b.logIn(t)
	b.press(t, "Submit")
	b.see(t, "Expert Mode")
	b.fill(t, "name", "my_shot")
	b.fill(t, "range", "1-12")
	b.fill(t, "command", "test ! -e /nowhere")
	b.see(t, "12 items")
	js[any](t, b, `document.querySelector("input[type=checkbox]").click()`)
	b.see(t, "as many as the site allows")
	b.fill(t, "cluster", "/show/sh010")
	js[any](t, b, `document.querySelector("form.page").requestSubmit()`)
	b.until(t, "the submission", `/jobs\/\d+$/.test(location.hash)`)
	b.see(t, "100%")
	failing := f.sub("-name", "texture", "-range", "1-4", "-regex_highlights", "^looking", "-regex_outputpaths", `for (\S+)`, "sh", "-c", `echo looking for wood.tex; [ $QB_FRAME_NUMBER -ne 3 ]`)
	b.goTo(t, "#/jobs/"+failing)
	b.until(t, "the failure", `[...document.querySelectorAll(".chip")].some(e => e.innerText.includes("failed 1"))`)
	b.goTo(t, "#/jobs/"+failing+"?state=failed")
	b.until(t, "the failed item alone", `document.querySelectorAll(".card.flush tbody tr").length === 1`)
	js[any](t, b, `document.querySelector(".card.flush tbody tr a").click()`)
	b.see(t, "looking for wood.tex")
	b.see(t, "Highlights")
	b.until(t, "the path that was found", `[...document.querySelectorAll("pre.found")].map(e => e.innerText).join("|") === "looking for wood.tex|wood.tex"`)
	b.picture(t, "story-log")
	b.press(t, "Retry")
	b.see(t, "qbretry "+failing+":3")
	b.press(t, "Retry")
	b.until(t, "the second attempt", `[...document.querySelectorAll("tbody tr")].length === 2`)
	long := f.sub("-name", "long", "-range", "1-4", "sleep", "600")
	b.goTo(t, "#/jobs/"+long)
	b.until(t, "the start", `document.querySelector(".state")?.innerText.includes("running") === true`)
	b.press(t, "Kill")
	b.see(t, "qbkill "+long)
	b.press(t, "Kill")
	b.press(t, "Undo")
	b.see(t, "nothing was sent")
	if status := f.run("jobs", "-no-headers", "-fields", "status", long); status != "running" {
		t.Errorf("a kill that was undone leaves the job %s", status)
	}
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// TestPageDeveloper: somebody copies the commands of buttons, runs them, and sees on the page what they did; a program that asks the API
// sees what the page did.
func TestPageDeveloper(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "2")
	job := f.sub("-name", "tool", "-range", "1-3", "sh", "-c", "echo printed by $QB_FRAME_NUMBER; sleep 600")
	b := openTab(t, f)
	b.logIn(t)
	b.goTo(t, "#/jobs/"+job+"/items/1")
	b.see(t, "printed by 1")
	if out := f.run(b.commandOf(t, "qbout")...); out != "printed by 1" {
		t.Errorf("the command of the page prints %q", out)
	}
	b.goTo(t, "#/jobs/"+job)
	b.until(t, "the start", `document.querySelector(".state")?.innerText.includes("running") === true`)
	b.press(t, "Block")
	block := b.commandOf(t, "qbblock")
	b.press(t, "Cancel")
	f.run(block...)
	b.until(t, "what the command did", `[...document.querySelectorAll("main button")].some(e => e.innerText.startsWith("Unblock"))`)
	b.press(t, "Unblock")
	b.see(t, "qbunblock "+job)
	b.press(t, "Unblock")
	b.until(t, "what the page did", `[...document.querySelectorAll("main button")].some(e => e.innerText.startsWith("Block"))`)
	if history := f.ask(http.MethodGet, "/v1/jobs/"+job+"/history", ""); !strings.Contains(history, "unblock") {
		t.Errorf("the history has no unblock: %s", history)
	}
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}
