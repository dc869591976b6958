package browser_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPageFirstDay: what failed is tried again by exit code and host, what waits for what are links, keys of a list
// work at once, the answer of What if is seen where it was asked, and no command is shown while a field is wrong.
func TestPageFirstDay(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "2")
	job := f.sub("-name", "shot", "-range", "1-6", "-retrywork", "0", "-cpus", "2", "sh", "-c", `echo "item $QB_FRAME_NUMBER"; echo "no licence"; case $QB_FRAME_NUMBER in 1|3|5) exit 5;; 2) exit 7;; esac`)
	next := f.sub("-name", "comp", "-dependency", "link-complete-job-"+job, "true")
	b := openTab(t, f)
	b.logIn(t)
	b.goTo(t, "#/jobs/"+job)
	b.until(t, "three with 5", `[...document.querySelectorAll("tr")].some(e => /exit 5\s+h\s+3\s/.test(e.innerText))`)
	b.until(t, "one with 7", `[...document.querySelectorAll("tr")].some(e => /exit 7\s+h\s+1\s/.test(e.innerText))`)
	b.see(t, "no licence")
	b.until(t, "what waits for it", `document.querySelector('.facts-line a[href="#/jobs/`+next+`"]') !== null`)
	b.picture(t, "failures")
	b.press(t, "exit 5")
	b.see(t, "3 with exit 5 on h")
	b.until(t, "these items alone", `document.querySelectorAll(".card.flush tbody tr").length === 3`)
	b.press(t, "Retry the 3 on h")
	b.see(t, "qbretry "+job+":1,3,5")
	b.answer(t, "", "Retry failed items")
	b.see(t, "3 affected")
	b.goTo(t, "#/jobs/"+next)
	b.until(t, "what it waits for", `document.querySelector('.facts-line a[href="#/jobs/`+job+`"]') !== null`)
	b.links(t)
	b.goTo(t, "#/jobs/"+job+"/items/4")
	b.see(t, "item 4")
	if js[bool](t, b, `document.querySelector("canvas") !== null || [...document.querySelectorAll("main button")].some(e => e.innerText.startsWith("Kill"))`) {
		t.Error("an item that is complete and has no picture has a card for one, or a button that kills it")
	}
	b.goTo(t, "#/jobs/"+job+"/items/100%")
	b.until(t, "what is wrong with a cut address", `document.querySelector("main").innerText.includes("100%")`)
	b.goTo(t, "#/jobs")
	b.until(t, "the list", `document.querySelectorAll(".row-line").length > 2`)
	b.do(t, chromedp.KeyEvent("j"))
	b.do(t, chromedp.KeyEvent("x"))
	b.until(t, "the second row is selected", `document.querySelectorAll(".row-line")[1].classList.contains("chosen")`)
	b.goTo(t, "#/submit")
	b.see(t, "Expert Mode")
	js[any](t, b, `document.querySelector("main input[type=checkbox]").click()`)
	b.fill(t, "command", "true")
	b.fill(t, "range", "1-5")
	b.see(t, "qbsub -range 1-5")
	b.press(t, "What if…")
	b.until(t, "the answer", `document.querySelector(".answer strong") !== null`)
	if y := js[[]float64](t, b, `(() => { const r = document.querySelector(".answer strong").getBoundingClientRect(); return [r.top, innerHeight - r.bottom]; })()`); y[0] < 0 || y[1] < 0 {
		t.Errorf("the answer is off the screen: %v", y)
	}
	b.picture(t, "what-if-expert")
	b.fill(t, "priority", "abc")
	b.fill(t, "range", "1-")
	b.fill(t, "reservations", "nonsense")
	b.fill(t, "requirements", "host.memory >")
	b.until(t, "each wrong field", `["priority", "range", "reservations", "requirements"].every(name => document.querySelector("main input[name=" + name + "][aria-invalid]"))`)
	if text := js[string](t, b, `document.querySelector(".dock").innerText`); strings.Contains(text, "qbsub") || strings.Contains(text, "Copy") {
		t.Errorf("with wrong fields it says %q", text)
	}
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// links looks that each way to name a submission of several jobs leads to all of them, and from its last job back.
func (b *tab) links(t *testing.T) {
	t.Helper()
	first, last, two := strings.Cut(b.sub("-name", "parts", "-label", "parts", "-status", "blocked", "-range", "1-4", "-p_agenda", "2", "true"), "\n")
	if !two {
		t.Fatalf("only one job: %s", first)
	}
	linked := func(id string) string {
		return `document.querySelector('.facts-line a[href="#/jobs/` + id + `"]') !== null`
	}
	var waiting []string
	for _, link := range []string{last, "link-complete-job-" + last, "link-done-work-" + last + ":3", "link-complete-subjob-" + last, "link-complete-work-parts", "link-failed-job-parts"} {
		job := b.sub("-pgrp", first, "-range", "1-4", "-dependency", link, "true")
		waiting = append(waiting, job)
		b.goTo(t, "#/jobs/"+job)
		b.until(t, "both jobs of "+link, `location.hash.endsWith("/`+job+`") && `+linked(first)+" && "+linked(last))
	}
	b.goTo(t, "#/jobs/"+last)
	for _, job := range waiting {
		b.until(t, "what waits for all", linked(job))
	}
}
