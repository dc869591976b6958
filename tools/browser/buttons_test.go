package browser_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// made are the requests so far that may change the farm, and the orders that wait to be sent.
func (b *tab) made(t *testing.T) []string {
	t.Helper()
	waits := js[[]string](t, b, `[...document.querySelectorAll(".notice")].map(e => e.innerText).filter(text => / in 5 s/.test(text))`)
	b.mu.Lock()
	defer b.mu.Unlock()
	return append(slices.Clone(b.changes), waits...)
}

// form is a form or a dialog, and how it is opened.
type form struct {
	name, address, open string
	box                 string // the form itself
}

// fresh opens it anew, without what the step before has left.
func (b *tab) fresh(t *testing.T, f form) {
	t.Helper()
	js[any](t, b, `document.querySelectorAll('.notice [aria-label="Dismiss"]').forEach(e => e.click())`)
	b.goTo(t, "#/me")
	b.see(t, "Sessions and tokens")
	b.goTo(t, f.address)
	b.until(t, "opening "+f.name, `(() => { `+f.open+` })()`)
	b.until(t, f.name, fmt.Sprintf(`document.querySelector(%q) !== null`, f.box))
	b.until(t, "the buttons of "+f.name, fmt.Sprintf(`document.querySelectorAll(%q).length > 0`, f.box+" button"))
}

// opens is JavaScript that presses the button that opens a dialog.
func opens(label string) string {
	return fmt.Sprintf(`if (document.querySelector("dialog[open]")) return true; const e = [...document.querySelectorAll("main button")].find(e => e.innerText.trim().startsWith(%q) && !e.disabled); e?.click(); return Boolean(e);`, label)
}

// chosen is JavaScript that selects the first row of a list and presses a button of the bar below.
func chosen(label string) string {
	return `const box = document.querySelector(".row-line input[type=checkbox]"); if (box && !box.checked) box.click(); ` + opens(label)
}

// TestPageButtons walks all buttons of all forms and dialogs, with the mouse and with Enter: none but the one that is
// named after the action carries it out. Enter in a field carries the action out, and does nothing else.
func TestPageButtons(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "2")
	job := f.sub("-name", "shot", "-cpus", "2", "-max_cpus", "2", "-range", "1-40", "sh", "-c", `[ "$QB_FRAME_NUMBER" != 1 ] && sleep 600`)
	held := f.sub("-name", "held", "-status", "blocked", "-range", "1-4", "true")
	b := openTab(t, f)
	b.logIn(t)
	b.goTo(t, "#/jobs/"+job)
	b.see(t, "failed 1")
	b.goTo(t, "#/jobs/"+held)
	b.until(t, "something to undo", `(() => { `+opens("Priority…")+` })()`)
	b.answer(t, "60", "Change")
	b.see(t, "priority 60 for job "+held)
	forms := []form{
		{"submit", "#/submit", `const box = document.querySelector("main input[type=checkbox]"); if (box?.checked) box.click(); return box && !box.checked;`, "form.page"},
		{"expert", "#/submit", `const box = document.querySelector("main input[type=checkbox]"); if (box && !box.checked) box.click(); return box?.checked;`, "form.page"},
		{"lock", "#/hosts", chosen("Lock…"), "dialog[open]"},
		{"what if", "#/what-if?job=" + job + "&priority=77", opens("Do it"), "dialog[open]"},
		{"undo", "#/undo", opens("Undo…"), "dialog[open]"},
		{"revoke", "#/me", opens("Revoke…"), "dialog[open]"},
		{"jobs", "#/jobs", chosen("Kill…"), "dialog[open]"},
	}
	for _, label := range []string{"Kill…", "Priority…", "cpus…", "max_cpus…", "Block…", "Retry 1"} {
		forms = append(forms, form{label, "#/jobs/" + job, opens(label), "dialog[open]"})
	}
	for _, label := range []string{"Retry…", "Block…", "Kill…"} {
		forms = append(forms, form{"items " + label, "#/jobs/" + job + "?items=3-5", opens(label), "dialog[open]"})
	}
	for _, form := range forms {
		b.fresh(t, form)
		if form.box == "form.page" {
			b.fill(t, "command", "true")
			b.fill(t, "name", "from_a_button")
		}
		b.buttons(t, form)
	}
	b.enters(t, job)
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// buttons presses each button of a form that is not the one that carries it out.
func (b *tab) buttons(t *testing.T, form form) {
	t.Helper()
	list := js[[]string](t, b, fmt.Sprintf(`[...document.querySelector(%q).querySelectorAll("button")].map(e => e.type + " " + (e.getAttribute("aria-label") ?? e.innerText))`, form.box))
	if n := len(slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !strings.HasPrefix(s, "submit ") })); n != 1 || len(list) < 2 {
		t.Errorf("%s: the buttons %q have %d that carry it out, not one", form.name, list, n)
	}
	for n, label := range list {
		if strings.HasPrefix(label, "submit ") {
			continue
		}
		for _, way := range []string{"the mouse", "Enter"} {
			b.fresh(t, form)
			before := b.made(t)
			at := js[[]float64](t, b, fmt.Sprintf(`(() => { const e = document.querySelector(%q).querySelectorAll("button")[%d]; e.scrollIntoView({block: "center"}); e.focus(); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`, form.box, n))
			if way == "Enter" {
				b.do(t, chromedp.KeyEvent("\r"))
			} else {
				b.do(t, chromedp.MouseClickXY(at[0], at[1]))
			}
			time.Sleep(150 * time.Millisecond) // what it does
			if after := b.made(t); len(after) != len(before) {
				t.Errorf("%s: %s by %s does %q", form.name, label, way, after[len(before):])
			}
			if strings.Contains(label, "Copy") && form.box == "dialog[open]" && js[bool](t, b, `document.querySelector("dialog[open]") === null`) {
				t.Errorf("%s: %s by %s closes the dialog", form.name, label, way)
			}
		}
	}
}

// enters types into a dialog and into the form of a submission and presses Enter: once the action, and nothing else.
func (b *tab) enters(t *testing.T, job string) {
	t.Helper()
	for _, form := range []form{{"submit", "#/submit", `return true;`, "form.page"}, {"Priority…", "#/jobs/" + job, opens("Priority…"), "dialog[open]"}} {
		b.fresh(t, form)
		before := b.made(t)
		field, done := "dialog[open] input", "priority 55 for job "+job
		if form.box == "form.page" {
			b.fill(t, "command", "true")
			field, done = "main input[name=priority]", " is submitted"
		}
		js[any](t, b, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.focus(); e.select(); })()`, field))
		b.do(t, chromedp.KeyEvent("55"))
		b.do(t, chromedp.KeyEvent("\r"))
		b.see(t, done)
		if after := b.made(t); len(after) != len(before)+1 {
			t.Errorf("%s: Enter does %q", form.name, after[len(before):])
		}
		if notices := js[string](t, b, `document.querySelector(".notices").innerText`); strings.Contains(notices, "cop") {
			t.Errorf("%s: Enter copies: %s", form.name, notices)
		}
	}
}

// TestPageBelongs: a dialog ends with its view, an order that waits is sent with it, no button of another view is left
// over the next one, each names its job, and a change of one's own makes no other of one's own fail.
func TestPageBelongs(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "2")
	one, two := f.sub("-name", "one", "-cpus", "1", "-range", "1-40", "sleep", "600"), f.sub("-name", "two", "-cpus", "1", "-range", "1-40", "sleep", "600")
	b := openTab(t, f)
	b.logIn(t)
	const dialog, undos = `document.querySelector("dialog[open]") !== null`, `[...document.querySelectorAll(".notice button")].filter(e => e.innerText === "Undo").length`
	b.goTo(t, "#/jobs/"+two)
	b.see(t, "two")
	b.goTo(t, "#/jobs/"+one)
	b.press(t, "Kill…")
	b.see(t, "Kill job "+one)
	js[any](t, b, `history.back()`)
	b.until(t, "the other job", `location.hash === "#/jobs/`+two+`"`)
	b.until(t, "the end of the dialog", `!(`+dialog+`)`)
	if n := len(b.made(t)); n != 0 {
		t.Errorf("leaving a dialog sends %q", b.made(t))
	}
	b.goTo(t, "#/jobs/"+one)
	b.press(t, "max_cpus…")
	b.answer(t, "7", "Change")
	b.see(t, "max_cpus 7 for job "+one)
	b.press(t, "Kill…")
	b.answer(t, "", "Kill")
	b.see(t, "Kill job "+one+" in 5 s")
	b.until(t, "one button for one job", undos+` === 1`)
	b.goTo(t, "#/jobs/"+two)
	b.see(t, "Kill job "+one+": 40 affected")
	b.until(t, "no button over another job", undos+` === 0`)
	if got := f.run("jobs", "-no-headers", "-fields", "status", one); got != "killed" {
		t.Errorf("job %s is %s", one, got)
	}
	b.press(t, "Priority…")
	b.answer(t, "71", "Change")
	b.see(t, "priority 71 for job "+two)
	b.press(t, "max_cpus…")
	b.answer(t, "5", "Change")
	b.see(t, "max_cpus 5 for job "+two)
	b.goTo(t, "#/undo") // the oldest first: what came after it was one's own
	b.see(t, "priority 71")
	b.until(t, "undo of the priority", `(() => { if (`+dialog+`) return true; [...document.querySelectorAll("tr")].find(e => e.innerText.includes("priority 71"))?.querySelector("td:last-child button").click(); return false; })()`)
	b.answer(t, "", "Undo")
	b.see(t, "undone: priority 71 for job "+two)
	b.goTo(t, "#/jobs/"+two)
	b.press(t, "Kill…")
	b.answer(t, "", "Kill")
	b.see(t, "Kill job "+two+" in 5 s")
	b.press(t, "cpus…")
	b.answer(t, "2", "Change")
	b.see(t, "Kill job "+two+": 40 affected")
	if text := js[string](t, b, `document.body.innerText`); strings.Contains(text, "omebody") && strings.Contains(text, "was changed") {
		t.Errorf("an own change is taken for somebody else's: %s", text)
	}
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}
