package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// answer answers the open dialog: its button with a text, after a value was typed if there is a field.
func (b *tab) answer(t *testing.T, value, button string) {
	t.Helper()
	b.until(t, "a dialog", `document.querySelector("dialog[open]") !== null`)
	if value != "" {
		js[any](t, b, `(() => { document.querySelector("dialog[open] input").value = "`+value+`"; })()`)
	}
	js[any](t, b, `(() => { globalThis.answered = document.querySelector("dialog[open]")?.innerText; })()`)
	b.press(t, button)
	b.until(t, "its end", `document.querySelector("dialog[open]")?.innerText !== answered`) // another may follow at once
}

// TestUndoOfPage: a kill, a lock and a priority are undone from the list of all that can be, exactly; what another has changed
// since stays. A change of what another has changed since it was shown shows both values.
func TestUndoOfPage(t *testing.T) {
	f := startFarm(t, "2")
	job := f.sub("-name", "shot", "-cpus", "2", "-max_cpus", "2", "-range", "1-40", "sleep", "300")
	f.run("kill", job+":40") // not by the page
	b := openTab(t, f)
	b.do(t, chromedp.Navigate(f.run("open")))
	b.see(t, "Slots in use")
	b.goTo(t, "#/jobs/"+job)
	b.press(t, "Kill")
	b.answer(t, "", "Kill")
	b.see(t, "39 affected")
	b.until(t, "the kill", `document.querySelector(".state").innerText.includes("killed")`)
	b.goTo(t, "#/undo")
	b.see(t, "qbretry "+job+":1-39")
	b.press(t, "Undo…")
	b.answer(t, "", "Undo")
	b.see(t, "There is nothing to undo")
	b.until(t, "the undo", `document.body.innerText.includes("undone: Kill")`)
	if got := f.run("items", job, "-killed", "-no-headers", "-fields", "name"); got != "40" {
		t.Errorf("killed items after the undo: %q", got)
	}

	b.goTo(t, "#/jobs/"+job)
	b.press(t, "Priority")
	b.answer(t, "77", "Change")
	b.see(t, "priority 77 for job "+job)
	f.run("modify", "-mpriority", "78", job)
	b.goTo(t, "#/undo")
	b.see(t, "qbmodify -mpriority")
	b.press(t, "Undo…")
	b.answer(t, "", "Undo")
	b.see(t, "was changed since by another user or command, so this undo left")
	if got := f.run("jobs", "-no-headers", "-fields", "priority", job); got != "78" {
		t.Errorf("priority %s", got)
	}
	b.goTo(t, "#/jobs/"+job)
	b.see(t, "priority 78")
	b.press(t, "Priority")
	f.run("modify", "-mpriority", "79", job)
	b.until(t, "a dialog", `document.querySelector("dialog[open] input") !== null`)
	js[any](t, b, `(() => { document.querySelector("dialog[open] input").value = "80"; })()`)
	b.press(t, "Change")
	b.see(t, "priority was shown as 78, is now 79")
	b.picture(t, "conflict")
	b.press(t, "Change to 80")
	b.see(t, "priority 80 for job "+job)

	b.goTo(t, "#/hosts")
	b.until(t, "the host is selected", `(() => { const box = document.querySelector(".row-line input[type=checkbox]"); if (box && !box.checked) box.click(); return document.querySelector(".actions") !== null; })()`)
	b.press(t, "Lock…")
	b.answer(t, "", "Lock")
	b.see(t, "locked h")
	b.until(t, "the list", `document.querySelector("a.undo")?.innerText.includes("2") === true`)
	b.goTo(t, "#/undo")
	b.pictures(t, "undo", "#/undo")
	b.press(t, "Undo…")
	b.answer(t, "", "Undo")
	b.see(t, "undone: locked h")
	if got := f.run("hosts", "-no-headers", "-fields", "state", "h"); got != "up" {
		t.Errorf("the host is %s", got)
	}
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}
